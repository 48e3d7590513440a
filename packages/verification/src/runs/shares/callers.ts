import { setTimeout as pause } from 'node:timers/promises'
import { addition, CrowdConnection, reading } from '../../harness/crowd-connection.ts'

export interface Calls {
  readonly port: number
  /** One per caller; each caller has its own address and connection. */
  readonly tokens: readonly string[]
  readonly milliseconds: number
  /** Requests per second of each caller. */
  readonly perSecond: number
}

export interface Called {
  /** In milliseconds, from the due time of the request. */
  readonly latencies: readonly number[]
  /** Wrong responses, by text. */
  readonly wrong: Readonly<Record<string, number>>
}

/** One in this number of requests changes the cart. */
const WRITES = 4

let connections: CrowdConnection[] = []

/** A process of signed-in callers that keep their pace even if the host is slow. */
process.on('message', async (calls: Calls) => {
  process.send?.(await call(calls))
})
process.once('disconnect', () => process.exit())

async function call({ port, tokens, milliseconds, perSecond }: Calls): Promise<Called> {
  if (connections.length === 0)
    connections = tokens.map((_, index) => new CrowdConnection(port, `127.0.1.${index + 1}`))
  const latencies: number[] = []
  const wrong: Record<string, number> = {}
  const begun = performance.now()
  await Promise.all(
    tokens.map(async (token, caller) => {
      const interval = 1_000 / perSecond
      const first = begun + (interval * caller) / tokens.length
      for (let due = first, turn = caller; due < begun + milliseconds; due += interval, turn += 1) {
        const wait = due - performance.now()
        if (wait > 0) await pause(wait)
        const isWrite = turn % WRITES === 0
        const asked = isWrite ? addition(token, turn % 7) : reading(token)
        const said = await (connections[caller] as CrowdConnection).ask(asked).then(
          ({ status, body }) => (status < 300 ? undefined : `${status} ${body.slice(0, 200)}`),
          ({ message }: Error) => message,
        )
        if (said === undefined) latencies.push(performance.now() - due)
        else wrong[said] = (wrong[said] ?? 0) + 1
      }
    }),
  )
  return { latencies, wrong }
}
