import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk'
import { RetriableError } from './database-error.ts'

const ATTEMPTS = 20
const LIMIT_MS = 5_000
const SHORTEST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 200

/**
 * Runs `work`, again while it fails for what others do at the same time, after a pause that grows and that chance
 * decides, so that the same ones do not meet again.
 *
 * @throws {DatabaseError} `busy` or `unavailable` when it has failed too often: nothing was changed
 */
export async function retry<Result>(work: (attempt: number) => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + LIMIT_MS
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!(error instanceof RetriableError)) throw error
      if (attempt === ATTEMPTS || performance.now() >= deadline) {
        throw new DatabaseError(error.kind, `given up after ${attempt} attempts: ${error.message}`, {
          cause: error,
        })
      }
      if (error.stale) continue
    }
    await pause(Math.random() * Math.min(SHORTEST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS))
  }
}
