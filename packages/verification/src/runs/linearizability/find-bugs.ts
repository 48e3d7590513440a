import { bugs } from './bugs.ts'
import { runLinearizability } from './run-linearizability.ts'

export interface FindBugsOptions {
  readonly seed: number
  /** The URL of a PostgreSQL server, for the bugs of that engine. */
  readonly postgres: () => Promise<string>
  /** Names of bugs; without it, all bugs. */
  readonly only?: readonly string[]
  readonly onProgress?: (text: string) => void
}

/** A bug counts as not found after this many rounds. */
const LIMIT = 50

/**
 * Plants one bug after the other, on SQLite unless the bug belongs to PostgreSQL.
 * @returns the names of the planted bugs, and of those that no round revealed
 */
export async function findBugs({ seed, postgres, only, onProgress }: FindBugsOptions) {
  const planted: string[] = []
  const missed: string[] = []
  for (const { name, engine, kills } of bugs) {
    if (only !== undefined && !only.includes(name)) continue
    planted.push(name)
    const database = engine === 'postgres' ? await postgres() : undefined
    const killEvery = kills ? 1 : Number.POSITIVE_INFINITY
    const report = await runLinearizability({ rounds: LIMIT, seed, database, bug: name, killEvery })
    const { failure, rounds, operations } = report
    if (failure === undefined) missed.push(name)
    const found = failure === undefined ? 'not found' : 'found'
    onProgress?.(`${found} in ${rounds} rounds, ${operations} operations: ${name}`)
  }
  return { planted, missed }
}
