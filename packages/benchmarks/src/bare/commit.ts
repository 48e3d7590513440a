import type { Database } from 'better-sqlite3'

/**
 * Runs `work` in a transaction. Resolves when it is durable. An error rolls it back and rejects.
 */
export type Commit = <Result>(work: () => Result) => Promise<Result>

/** A COMMIT per write, which is the usual way. */
export function commitEach(database: Database): Commit {
  const transaction = database.transaction((work: () => unknown) => work()).immediate
  return async <Result>(work: () => Result) => transaction(work) as Result
}

interface Member {
  readonly work: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly result: unknown } | { readonly error: unknown }

/**
 * One COMMIT for all writes of one turn of the event loop, with a savepoint each: the limit of
 * SQLite.
 */
export function commitGrouped(database: Database): Commit {
  // Inside another transaction, better-sqlite3 makes this a savepoint.
  const one = database.transaction((work: () => unknown) => work())
  const all = database.transaction((members: readonly Member[]) =>
    members.map(({ work }): Outcome => {
      try {
        return { result: one(work) }
      } catch (error) {
        return { error }
      }
    }),
  ).immediate
  let queue: Member[] = []

  function run(): void {
    const members = queue
    queue = []
    try {
      all(members).forEach((outcome, index) => {
        const { resolve, reject } = members[index] as Member
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.result)
      })
    } catch (error) {
      for (const { reject } of members) reject(error)
    }
  }

  return <Result>(work: () => Result) =>
    new Promise<Result>((resolve, reject) => {
      queue.push({ work, resolve: resolve as (result: unknown) => void, reject })
      if (queue.length === 1) setImmediate(run)
    })
}
