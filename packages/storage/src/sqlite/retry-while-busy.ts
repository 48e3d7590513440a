import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk'

/** How long to wait for another process's lock (a backup, a shell). */
const LIMIT_MS = 5_000
const PAUSE_MS = 25

/**
 * Runs `work`, and repeats it while it fails as `busy`, with the event loop free in between. `work`
 * is synchronous, begins by taking the lock, and fails as `busy` for nothing else.
 *
 * @throws {DatabaseError} `busy` after `limit` milliseconds
 */
export async function retryWhileBusy<Result>(work: () => Result, limit = LIMIT_MS): Promise<Result> {
  const deadline = performance.now() + limit
  for (;;) {
    try {
      return work()
    } catch (error) {
      const busy = error instanceof DatabaseError && error.kind === 'busy'
      if (!busy || performance.now() >= deadline) throw error
    }
    await pause(PAUSE_MS)
  }
}
