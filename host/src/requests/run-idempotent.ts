import { setTimeout as pause } from 'node:timers/promises'
import { type Database, DatabaseError, type Problem, type Transaction } from '@mortise/module-sdk'
import { BrokenStorageError } from '@mortise/storage'
import { Decided, decideOnce, isKept, type Reservation, type StoredResponse } from './idempotency-records.ts'

/** How long and how often to look for the outcome of a lost COMMIT, in milliseconds. */
const LOOK_FOR = 5_000
const LOOK_EVERY = 100

/**
 * Decides a request with an Idempotency-Key once, on any number of attempts and hosts. A problem
 * that is kept rolls back its transaction with the reservation, and a second transaction stores the
 * problem. A second request between the two is harmless: its outcome is then returned here too.
 *
 * @param decide runs if nothing is decided yet; may run several times, and takes effect once
 * @param problemOf converts an error of the steps to its problem
 * @param problemResponse converts a problem to its response
 */
export async function runIdempotent(
  database: Database,
  reservation: Reservation,
  decide: () => Transaction<StoredResponse>,
  problemOf: (error: unknown) => Problem,
  problemResponse: (problem: Problem) => StoredResponse,
): Promise<StoredResponse> {
  const run = (steps: () => Transaction<StoredResponse>) =>
    untilKnown(() => database.transaction(() => decideOnce(reservation, steps)))
  try {
    try {
      return await run(() => ruled(decide, problemOf))
    } catch (error) {
      if (!(error instanceof Ruling)) throw error
      const { problem } = error
      // biome-ignore lint/correctness/useYield: there is nothing to do, only to keep
      return await run(function* () {
        return problemResponse(problem)
      })
    }
  } catch (error) {
    if (error instanceof Decided) return error.response
    throw error
  }
}

/** A problem from the steps, as opposed to one from the reservation. */
class Ruling extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message, { cause: problem })
    this.problem = problem
  }
}

function* ruled(
  decide: () => Transaction<StoredResponse>,
  problemOf: (error: unknown) => Problem,
): Transaction<StoredResponse> {
  try {
    return yield* decide()
  } catch (error) {
    const problem = problemOf(error)
    throw isKept(problem.status) ? new Ruling(problem) : error
  }
}

/**
 * Runs a transaction with a reserved key, and repeats it if its COMMIT had no reply: the record of a
 * committed transaction prevents a second effect.
 * @throws {DatabaseError} `unknown-outcome` if the database stays unreachable, or is unavailable
 * until the next start
 */
async function untilKnown(run: () => Promise<StoredResponse>): Promise<StoredResponse> {
  let unknown: DatabaseError | undefined
  for (const deadline = performance.now() + LOOK_FOR; ; await pause(LOOK_EVERY)) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      if (error.kind === 'unknown-outcome') unknown = error
      if (unknown === undefined) throw error
      if (error instanceof BrokenStorageError || performance.now() >= deadline) throw unknown
    }
  }
}
