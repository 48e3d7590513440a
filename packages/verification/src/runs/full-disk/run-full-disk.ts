import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { buyersOf } from '../../harness/buyers-of.ts'
import { ConfinedHost, runConfined } from '../../harness/confined-app.ts'
import type { Random } from '../../harness/random.ts'
import { outcome } from '../../harness/repeat.ts'
import type { Outcome } from '../../harness/verification.ts'
import { Filler } from './filler.ts'

const USERS = 8
/** The number of times that the disk is filled in one round. */
const TIMES = 2
/** The time limit until writes are rejected, or accepted again, in milliseconds. */
const PATIENCE = 15_000
/** The limit of the log. One line per rejected write would exceed it. */
const LONGEST_LOG = 64 * 1024

/**
 * Users purchase in an application on a small disk that fills and empties. The host is killed from
 * time to time.
 */
export async function runFullDisk(disk: string, random: Random): Promise<Outcome> {
  const directory = join(disk, 'application')
  await mkdir(directory)
  const options = { directory, confinement: [] }
  // 0: only SQLite notices the full disk.
  const mark = () => (random.chance(0.7) ? { APP_STORAGE_MIN_FREE_BYTES: '0' } : {})
  const startHost = () => ConfinedHost.start({ ...options, environment: mark() })
  for (const argv of [['init'], ['module-install', 'api-purchase']]) {
    const { exitCode, said } = await runConfined(options, argv)
    if (exitCode !== 0) throw new Error(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
  }
  const buyers = await buyersOf(directory, USERS)
  const filler = new Filler(disk)
  const failures: string[] = []
  const begun = { starts: 0, reads: 0 }
  let host = await startHost()
  try {
    for (let time = 0; time < TIMES && failures.length === 0; time += 1) {
      buyers.start(host.url)
      await pause(random.between(50, 400))
      const { denied } = buyers
      await filler.fill(random.chance(0.5) ? 0 : random.between(0, 128 * 1024))
      await filler.keepFull(() => buyers.denied > denied + USERS, PATIENCE)
      if (buyers.denied === denied) failures.push('no write was refused on a full disk')
      if (random.chance(0.4)) {
        await host.kill()
        await buyers.stop()
        host = await startHost()
        begun.starts += 1
        buyers.start(host.url)
      }
      for (const path of ['/health/ready', '/openapi.json']) {
        const status = await fetch(host.url + path).then(({ status }) => status, String)
        begun.reads += 1
        if (status !== 200) failures.push(`GET ${path} is ${status} on a full disk`)
      }
      await filler.empty()
      const { acknowledged } = buyers
      for (const end = performance.now() + PATIENCE; buyers.acknowledged === acknowledged; await pause(20)) {
        if (performance.now() < end && !host.hasEnded) continue
        failures.push('writes are not taken again though there is room')
        break
      }
      if (host.hasEnded) failures.push(`the host ended: ${host.end}`)
      await buyers.stop()
    }
    if (host.log.length > LONGEST_LOG) failures.push(`the log has ${host.log.length} bytes`)
    if (!host.hasEnded) failures.push(...(await buyers.check(host.url)))
  } finally {
    await buyers.stop()
    await host.kill()
    buyers.close()
  }
  const figures = {
    'purchases acknowledged': buyers.acknowledged,
    'purchases refused': buyers.denied,
    'starts on a full disk': begun.starts,
    'reads on a full disk': begun.reads,
  }
  return outcome(figures, failures, ['purchases acknowledged', 'purchases refused', 'reads on a full disk'])
}
