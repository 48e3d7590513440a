import { Agent } from 'node:http'
import { ask } from '../../harness/ask.ts'
import { Child } from '../../harness/child.ts'
import { hostServer } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { outcome } from '../../harness/repeat.ts'
import type { Usage } from '../../harness/serve-parent.ts'
import type { Outcome } from '../../harness/verification.ts'
import type { CrowdOptions, CrowdReport } from './crowd.ts'
import { probe } from './probe.ts'

export interface OverloadOptions {
  readonly directory: string
  readonly seed: number
  /** That are busy at once, and some of them more than the host takes. */
  readonly connections: number
  readonly milliseconds: number
}

/** Connections of the crowd beyond those that the host takes. */
const TOO_MANY = 20
/** A liveness probe that takes longer has failed, in milliseconds. */
const PROBE = 1_000
/** Within so many milliseconds of its end nothing is left of the load. */
const RECOVERY = 1_000

/** A crowd of busy connections that read and write, while health is probed on new ones. */
export async function runOverload({
  directory,
  seed,
  connections,
  milliseconds,
}: OverloadOptions): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true })
  const crowd = new Child(new URL('crowd.ts', import.meta.url))
  const host = new Child(hostServer)
  try {
    const application = await prepareApplication(directory, ['@mortise/api-cart'])
    const tokens = await mintUsers(application, connections)
    const environment = { APP_SERVER_MAX_CONNECTIONS: String(connections - TOO_MANY) }
    const { url } = await host.ask<{ url: string }>({ directory, environment })
    const stop = new AbortController()
    const share = await shareOf(host)
    const probing = probe(url, stop.signal)
    const port = Number(new URL(url).port)
    const options: CrowdOptions = { port, seed, tokens, milliseconds }
    const report = await crowd.ask<CrowdReport>(options).finally(() => stop.abort())
    const limit = PROBE / (await share())
    const probes = await probing
    const failures = probes
      .filter(({ said, milliseconds }) => said !== 200 || milliseconds > limit)
      .map(({ path, said, milliseconds }) => `${path}: ${said} after ${milliseconds} ms`)
    failures.push(...Object.entries(report.wrong).map(([text, count]) => `${count} times ${text}`))
    failures.push(...(await recover(url)))
    for (const [index, token] of tokens.entries())
      failures.push(...(await compare(url, token, report, index)))
    const figures = {
      'requests served': report.served,
      'requests refused': report.shed,
      'writes acknowledged': report.added.reduce((sum, [acknowledged]) => sum + acknowledged, 0),
      'health probes': probes.length,
    }
    return outcome(figures, failures, Object.keys(figures))
  } finally {
    agent.destroy()
    await crowd.kill()
    await host.kill()
  }

  async function recover(url: string): Promise<string[]> {
    const begun = performance.now()
    const { status } = await ask(agent, { url: `${url}/cart`, method: 'GET', headers: {} })
    const took = Math.round(performance.now() - begun)
    if (status === 200 && took <= RECOVERY) return []
    return [`after the load GET /cart returns ${status} after ${took} ms`]
  }

  /** What a caller was sent with what is in their cart. */
  async function compare(
    url: string,
    token: string,
    { added }: CrowdReport,
    index: number,
  ): Promise<string[]> {
    const headers = { authorization: `Bearer ${token}` }
    const { body } = await ask(agent, { url: `${url}/cart`, method: 'GET', headers })
    const { totalQuantity } = JSON.parse(body)
    const [acknowledged, unknown] = added[index] as CrowdReport['added'][number]
    if (totalQuantity >= acknowledged && totalQuantity <= acknowledged + unknown) return []
    return [`user-${index} was acknowledged ${acknowledged} additions, and has ${totalQuantity}`]
  }
}

/** What part of a core the host has until the result is called: where others leave it less, a second is longer. */
async function shareOf(host: Child): Promise<() => Promise<number>> {
  const begun = performance.now()
  const before = await host.ask<Usage>({})
  return async () => {
    const { cpu } = await host.ask<Usage>({})
    return Math.min(1, Math.max(0.1, (cpu - before.cpu) / 1_000 / (performance.now() - begun)))
  }
}
