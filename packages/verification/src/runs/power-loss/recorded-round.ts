import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { configFile, secretFile } from '@mortise/host'
import { Buyers } from '../../harness/buyers.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import type { Random } from '../../harness/random.ts'
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

export interface RecordedRound {
  readonly operations: readonly Operation[]
  readonly tokens: readonly string[]
  readonly failedSyncs: number
  /** Failures before the power loss. */
  readonly failures: readonly string[]
}

export interface RoundSize {
  /** Ends of the first host, with weights. */
  readonly ends: readonly (readonly [number, (typeof ends)[number][1]])[]
  /** The most purchases of a host, unless it ends by itself. */
  readonly most: number
}

/** Makes an application in the empty `directory`. Two hosts accept purchases, one after the other. */
export async function recordRound(
  directory: string,
  random: Random,
  { ends, most }: RoundSize,
): Promise<RecordedRound> {
  const operations: Operation[] = []
  const failures: string[] = []
  const begin = (argv: readonly string[], failingSync?: number) =>
    new RecordedApp(argv, { directory, start: operations.length, failingSync })
  const finish = async (app: RecordedApp) => void operations.push(...(await app.operations()))

  for (const argv of [['init'], ['module-install', 'api-purchase']]) {
    const app = begin(argv)
    if ((await app.ended) !== 0) throw new Error(`app ${argv.join(' ')} ended: ${app.said}`)
    await finish(app)
  }
  const { auth } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const secret = (await readFile(secretFile(directory), 'utf8')).trim()
  const tokens = await mintUsers({ issuer: auth.issuer, secret }, USERS)
  const buyers = new Buyers(tokens)

  /** @returns how it ended; undefined if it did not start */
  const serve = async (
    signal: NodeJS.Signals,
    failingSync?: number,
  ): Promise<number | string | undefined> => {
    const host = begin(['start', '--no-supervisor', '--port', '0'], failingSync)
    let hasEnded = false
    host.ended.finally(() => {
      hasEnded = true
    })
    try {
      const url = await host.url()
      if (url === undefined) return undefined
      const more = failingSync === undefined ? random.between(Math.ceil(most / 4), most) : 3 * most
      const enough = buyers.acknowledged + more
      const end = performance.now() + LIMIT
      buyers.start(url)
      while (!hasEnded && buyers.acknowledged < enough && performance.now() < end) await pause(5)
      host.signal(signal)
      await buyers.stop()
      return await host.ended
    } finally {
      host.signal('SIGKILL')
      await finish(host)
    }
  }

  try {
    const end = random.weighted(ends)
    if (end === 'failed fsync') {
      const ended = await serve('SIGKILL', random.between(1, STARTING + Math.ceil(most / 3)))
      const expected = [70, 'SIGKILL', undefined]
      if (!expected.includes(ended)) failures.push(`after a failed fsync the host ended with ${ended}`)
      // The disk fails again during the start of the next host.
      if (random.chance(0.3) && (await serve('SIGKILL', 1)) !== undefined)
        failures.push('a host served although it could not sync the existing data')
    }
    if (end === 'killed') await serve('SIGKILL')
    if (end === 'stopped') await serve('SIGTERM')
    if ((await serve('SIGKILL')) === undefined) failures.push('the last host did not start')
  } finally {
    buyers.close()
  }
  const failedSyncs = operations.filter((each) => each.kind === 'sync' && each.failed).length
  return { operations, tokens, failedSyncs, failures }
}
