import { bearer, Caller } from '../../harness/caller.ts'
import { Child } from '../../harness/child.ts'
import { defineRun } from '../../harness/define-run.ts'
import { hostServer } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { probe } from '../../harness/probe.ts'
import type { Usage } from '../../harness/serve-parent.ts'
import type { CrowdOptions, CrowdReport } from './crowd.ts'

/** Connections that are busy at once. */
const sizes = {
  slice: { connections: 400, milliseconds: 2_000 },
  round: { connections: 2_000, milliseconds: 6_000 },
}
/** Connections of the crowd beyond those that the host takes. */
const TOO_MANY = 20
/** A liveness probe that takes longer has failed, in milliseconds. */
const PROBE = 1_000
/** Within so many milliseconds of its end nothing is left of the load. */
const RECOVERY = 1_000

/** A crowd of busy connections that read and write, while health is probed on new ones. */
export const overload = defineRun({
  promise:
    'Under more requests than a host can serve, health probes on new connections get a response within a second. Refused requests are 503 with Retry-After and have no effect. No acknowledged write is lost or done twice.',
  needed: ['requests served', 'requests refused', 'writes acknowledged', 'health probes'],
  async round(round) {
    const { seed, folder: directory, agent } = round
    const { connections, milliseconds } = sizes[round.isSlice ? 'slice' : 'round']
    const crowd = new Child(new URL('crowd.ts', import.meta.url))
    const host = new Child(hostServer)
    round.teardown(() => Promise.all([crowd.kill(), host.kill()]))
    const application = await prepareApplication(directory, ['@mortise/api-cart'])
    const tokens = await mintUsers(application, connections)
    const environment = { APP_SERVER_MAX_CONNECTIONS: String(connections - TOO_MANY) }
    const { url } = await host.ask<{ url: string }>({ directory, environment })
    const stop = new AbortController()
    const share = await shareOf(host)
    const probing = probe(url, stop.signal)
    const options: CrowdOptions = { port: Number(new URL(url).port), seed, tokens, milliseconds }
    const { served, shed, added, wrong } = await crowd.ask<CrowdReport>(options).finally(() => stop.abort())
    const limit = PROBE / (await share())
    const probes = await probing
    for (const { path, said, milliseconds } of probes)
      if (said !== 200 || milliseconds > limit) round.fail(`${path}: ${said} after ${milliseconds} ms`)
    round.fail(...Object.entries(wrong).map(([text, count]) => `${count} times ${text}`))

    const begun = performance.now()
    const { status } = await new Caller(agent, () => url).get('/cart')
    const took = Math.round(performance.now() - begun)
    if (status !== 200 || took > RECOVERY)
      round.fail(`after the load GET /cart returns ${status} after ${took} ms`)
    for (const [index, token] of tokens.entries()) {
      const { totalQuantity } = (await new Caller(agent, () => url, bearer(token)).get('/cart')).json
      const [acknowledged, unknown] = added[index] as CrowdReport['added'][number]
      round.count('writes acknowledged', acknowledged)
      if (totalQuantity < acknowledged || totalQuantity > acknowledged + unknown)
        round.fail(`user-${index} was acknowledged ${acknowledged} additions, and has ${totalQuantity}`)
    }
    round.count('requests served', served)
    round.count('requests refused', shed)
    round.count('health probes', probes.length)
  },
})

/** What part of a core the host has until the result is called: where others leave it less, a second is longer. */
async function shareOf(host: Child): Promise<() => Promise<number>> {
  const begun = performance.now()
  const before = await host.ask<Usage>({})
  return async () => {
    const { cpu } = await host.ask<Usage>({})
    return Math.min(1, Math.max(0.1, (cpu - before.cpu) / 1_000 / (performance.now() - begun)))
  }
}
