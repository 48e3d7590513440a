import { setTimeout as pause } from 'node:timers/promises'
import { buyersOf } from '../../harness/buyers-of.ts'
import { ConfinedHost, type Confinement, runConfined } from '../../harness/confined-app.ts'
import type { Random } from '../../harness/random.ts'
import { outcome } from '../../harness/repeat.ts'
import type { Outcome } from '../../harness/verification.ts'
import { Crowd } from './crowd.ts'

const USERS = 8
/** The number of crowds in one round. */
const TIMES = 2
const PATIENCE = 10_000
/** The limit of the log. One line per closed connection would exceed it. */
const LONGEST_LOG = 16 * 1024

/**
 * Users purchase at a host that may open `most` files, while twice as many connections come and
 * leave.
 */
export async function runDescriptors(
  directory: string,
  confinement: Confinement,
  most: number,
  random: Random,
): Promise<Outcome> {
  const unlimited = { directory, confinement: [] }
  for (const argv of [['init'], ['module-install', 'api-cart', 'api-purchase']]) {
    const { exitCode, said } = await runConfined(unlimited, argv)
    if (exitCode !== 0) throw new Error(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
  }
  const failures: string[] = []
  let healthy = 0
  const buyers = await buyersOf(directory, USERS)
  const host = await ConfinedHost.start({ directory, confinement })
  const crowd = new Crowd(host.url)
  try {
    buyers.start(host.url, true)
    for (let time = 0; time < TIMES && failures.length === 0; time += 1) {
      await pause(random.between(50, 300))
      await crowd.come(most * 2)
      if (await isHealthy(host.url)) healthy += 1
      const command = random.chance(0.5) ? 'module-disable' : 'module-enable'
      const { exitCode, said } = await runConfined(unlimited, [command, 'api-cart'])
      if (exitCode !== 0) failures.push(`app ${command} ended with ${exitCode}: ${said.slice(-300)}`)
      if (!/"live":\s*true/.test(said))
        failures.push(`app ${command} did not reach the host: ${said.slice(-300)}`)
      await crowd.leave()
      const end = performance.now() + PATIENCE
      while (!(await isHealthy(host.url)) && performance.now() < end) await pause(20)
      if (!(await isHealthy(host.url))) failures.push('it is not healthy again though the crowd has left')
      if (host.hasEnded) failures.push(`the host ended: ${host.end}`)
    }
    await buyers.stop()
    failures.push(...crowd.failures)
    if (host.log.length > LONGEST_LOG) failures.push(`the log has ${host.log.length} bytes`)
    if (!host.hasEnded) failures.push(...(await buyers.check(host.url)))
  } finally {
    await buyers.stop()
    await crowd.leave()
    await host.kill()
    buyers.close()
  }
  const figures = {
    'purchases acknowledged': buyers.acknowledged,
    'purchases refused': buyers.denied,
    'health responses during the crowd': healthy,
    'connections kept': crowd.kept,
    'connections closed at once': crowd.closed,
  }
  return outcome(figures, failures, ['purchases acknowledged', 'connections closed at once'])
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => undefined,
  )
  return response?.status === 200
}
