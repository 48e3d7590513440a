import { startWords } from '../../harness/app.ts'
import type { Round } from '../../harness/round.ts'
import { Shoppers, tokensOf } from '../../harness/shoppers.ts'
import { until } from '../../harness/until.ts'
import type { Operation } from './operation.ts'
import { RecordedApp } from './recorded-app.ts'

const USERS = 6
/** About the number of syncs of a start. */
const STARTING = 5
/** The longest time that a host serves, in milliseconds. */
const LIMIT = 60_000

/** How the first host ends: a failed fsync, a kill, a stop, or the power loss. */
export const ends = [
  [5, 'failed fsync'],
  [1, 'killed'],
  [1, 'stopped'],
  [1, 'not at all'],
] as const

export interface RecordSize {
  /** Ends of the first host, with weights. */
  readonly ends: readonly (readonly [number, (typeof ends)[number][1]])[]
  /** The most purchases of a host, unless it ends by itself. */
  readonly most: number
}

export interface Recorded {
  readonly operations: readonly Operation[]
  readonly tokens: readonly string[]
}

/** Makes an application in `directory`. Two hosts accept purchases, one after the other. */
export async function recordHosts(
  round: Round,
  directory: string,
  { ends, most }: RecordSize,
): Promise<Recorded> {
  const { random } = round
  const operations: Operation[] = []
  const begin = (argv: readonly string[], failingSync?: number) =>
    new RecordedApp(directory, argv, operations.length, failingSync)
  const finish = async (app: RecordedApp) => void operations.push(...(await app.operations()))

  for (const argv of [['init'], ['module-install', 'api-purchase']]) {
    const app = begin(argv)
    const { how, said } = await app.ended
    if (how !== 0) throw new Error(`app ${argv.join(' ')} ended: ${said}`)
    await finish(app)
  }
  const tokens = await tokensOf(directory, USERS)
  const shoppers = new Shoppers(round, tokens, { ifBroken: 'leave' })

  /** @returns how it ended; undefined if it did not start */
  const serve = async (
    signal: NodeJS.Signals,
    failingSync?: number,
  ): Promise<number | string | undefined> => {
    const host = begin(startWords(), failingSync)
    try {
      const url = await host.serving().catch(() => undefined)
      if (url === undefined) return undefined
      const more = failingSync === undefined ? random.between(Math.ceil(most / 4), most) : 3 * most
      const enough = shoppers.acknowledged + more
      shoppers.start(url)
      await until(() => host.hasEnded || shoppers.acknowledged >= enough, LIMIT, 5)
      host.signal(signal)
      await shoppers.stop()
      return (await host.ended).how
    } finally {
      await host.kill()
      await finish(host)
    }
  }

  const end = random.weighted(ends)
  if (end === 'failed fsync') {
    const ended = await serve('SIGKILL', random.between(1, STARTING + Math.ceil(most / 3)))
    const expected = [70, 'SIGKILL', undefined]
    if (!expected.includes(ended)) round.fail(`after a failed fsync the host ended with ${ended}`)
    // The disk fails again during the start of the next host.
    if (random.chance(0.3) && (await serve('SIGKILL', 1)) !== undefined)
      round.fail('a host served although it could not sync the existing data')
  }
  if (end === 'killed') await serve('SIGKILL')
  if (end === 'stopped') await serve('SIGTERM')
  if ((await serve('SIGKILL')) === undefined) round.fail('the last host did not start')
  round.count('failed fsyncs', operations.filter((each) => each.kind === 'sync' && each.failed).length)
  return { operations, tokens }
}
