import { setTimeout as pause } from 'node:timers/promises'
import { addition, CrowdConnection, type Reply, reading } from '../../harness/crowd-connection.ts'
import { Random } from '../../harness/random.ts'

export interface CrowdOptions {
  readonly port: number
  readonly seed: number
  /** One caller with a connection of their own for each. */
  readonly tokens: readonly string[]
  readonly milliseconds: number
}

export interface CrowdReport {
  readonly served: number
  readonly shed: number
  /** By caller: how many additions were acknowledged, and how many may have been done. */
  readonly added: readonly (readonly [acknowledged: number, unknown: number])[]
  /** Responses that should not be, by what they are. */
  readonly wrong: Readonly<Record<string, number>>
}

/** The share of callers who wait as Retry-After says. */
const PATIENT = 0.5
/** In this part of the time all callers come. */
const ARRIVAL = 0.2

/** A process that is many callers at once: each sends its next request when the last one has a response. */
process.once('message', async (options: CrowdOptions) => {
  process.send?.(await run(options))
})
process.once('disconnect', () => process.exit())

async function run({ port, seed, tokens, milliseconds }: CrowdOptions): Promise<CrowdReport> {
  const end = performance.now() + milliseconds
  const wrong: Record<string, number> = {}
  let served = 0
  let shed = 0
  const note = (text: string) => {
    wrong[text] = (wrong[text] ?? 0) + 1
  }

  async function caller(token: string, index: number): Promise<readonly [number, number]> {
    const random = new Random(seed * 10_000 + index)
    const connection = new CrowdConnection(port)
    const isPatient = random.chance(PATIENT)
    let acknowledged = 0
    let unknown = 0
    await pause(random.next() * milliseconds * ARRIVAL)
    while (performance.now() < end) {
      const writes = random.chance(0.4)
      let response: Reply
      try {
        response = await connection.ask(writes ? addition(token, random.between(1, 9)) : reading(token))
      } catch {
        note('a connection that ended without a response')
        if (writes) unknown += 1
        await pause(10)
        continue
      }
      const { status, head, body } = response
      if (status === 200 || status === 201) {
        served += 1
        if (writes) acknowledged += 1
      } else if (status === 503) {
        shed += 1
        const seconds = Number(/\r\nretry-after: (\d+)/.exec(head)?.[1])
        if (!(seconds >= 1)) note('a 503 without Retry-After')
        if (!head.includes('\r\ncontent-type: application/problem+json')) note('a 503 that is no problem')
        if (isPatient) await pause(Math.max(0, Math.min(seconds * 1000, end - performance.now())))
      } else {
        note(`${status} ${body.slice(0, 80)}`)
      }
    }
    connection.close()
    return [acknowledged, unknown]
  }

  const added = await Promise.all(tokens.map(caller))
  return { served, shed, added, wrong }
}
