import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { RetriableError } from './database-error.ts'

const ATTEMPTS = 20
const LIMIT_MS = 5_000
const SHORTEST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 200

/**
 * Runs `work`, and repeats it after conflicts with concurrent work, with growing random pauses, so
 * that the same transactions do not conflict again.
 *
 * @throws {DatabaseError} `busy` or `unavailable` after too many failures: nothing was changed
 */
export async function retry<Result>(work: (attempt: number) => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + LIMIT_MS
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!(error instanceof RetriableError)) throw error
      if (attempt === ATTEMPTS || performance.now() >= deadline) {
        throw new DatabaseError(error.kind, `failed after ${attempt} attempts: ${error.message}`, {
          cause: error,
        })
      }
      if (error.stale) continue
    }
    await pause(Math.random() * Math.min(SHORTEST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS))
  }
}
