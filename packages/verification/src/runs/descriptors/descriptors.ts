import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { mustRun, runApp, startHost } from '../../harness/app.ts'
import { CrowdConnection } from '../../harness/crowd-connection.ts'
import { defineRun } from '../../harness/define-run.ts'
import { shoppersOf } from '../../harness/shoppers.ts'
import { until, within } from '../../harness/until.ts'

const USERS = 8
/** The number of crowds in one round. */
const TIMES = 2
const PATIENCE = 10_000
/** A connection gets a response or is closed within this time, in milliseconds. */
const RESPONSE = 8_000
/** The limit of the log. One line per closed connection would exceed it. */
const LONGEST_LOG = 16 * 1024

const limited = (most: number) => ['sh', '-c', `ulimit -n ${most} && exec "$@"`, 'sh']

export const descriptors = defineRun({
  promise:
    'A host that may open few files accepts fewer connections: it loses no acknowledged purchase, stays reachable for commands, and fills no log.',
  needed: ['purchases acknowledged', 'connections closed at once'],
  async whyNot() {
    const [shell = '', ...words] = limited(220)
    return await promisify(execFile)(shell, [...words, 'true']).then(
      () => undefined,
      () => 'a process cannot be limited here (ulimit -n)',
    )
  },
  /** Users purchase at a host that may open few files, while twice as many connections come and leave. */
  async round(round) {
    const { random, folder } = round
    const most = random.between(220, 400)
    await mustRun(folder, [['init'], ['module-install', 'api-cart', 'api-purchase']])
    const shoppers = await shoppersOf(round, folder, USERS, { ifBroken: 'continue' })
    const host = await startHost(folder, { under: limited(most), environment: { APP_LOG_LEVEL: 'info' } })
    round.teardown(() => host.kill())
    let crowd: CrowdConnection[] = []
    const leave = () => {
      for (const connection of crowd) connection.close()
    }
    round.teardown(leave)
    /** Sends a request, which has a response, or a connection that is closed. */
    const comeAndStay = async (connection: CrowdConnection) => {
      const asked = connection.ask('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n')
      const status = await within(
        RESPONSE,
        asked.then(
          (reply) => reply.status,
          () => 0,
        ),
      )
      if (status === undefined) round.fail('a connection was neither served nor closed')
      else round.count(status === 200 ? 'connections kept' : 'connections closed at once')
    }
    shoppers.start(host.url)
    for (let time = 0; time < TIMES && round.holds; time += 1) {
      await pause(random.between(50, 300))
      crowd = Array.from({ length: most * 2 }, () => new CrowdConnection(host.port))
      await Promise.all(crowd.map(comeAndStay))
      if (await isHealthy(host.url)) round.count('health responses during the crowd')
      const command = random.chance(0.5) ? 'module-disable' : 'module-enable'
      const { exitCode, said } = await runApp(folder, [command, 'api-cart'])
      if (exitCode !== 0) round.fail(`app ${command} ended with ${exitCode}: ${said.slice(-300)}`)
      if (!/"live":\s*true/.test(said))
        round.fail(`app ${command} did not reach the host: ${said.slice(-300)}`)
      leave()
      if (!(await until(() => isHealthy(host.url), PATIENCE)))
        round.fail('it is not healthy again though the crowd has left')
      if (host.hasEnded) round.fail(`the host ended: ${host.end}`)
    }
    await shoppers.stop()
    if (host.stderr.length > LONGEST_LOG) round.fail(`the log has ${host.stderr.length} bytes`)
    await shoppers.conclude(round, host)
  },
})

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => undefined,
  )
  return response?.status === 200
}
