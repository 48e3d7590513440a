import { setTimeout as sleep } from 'node:timers/promises'
import { callRunningHost, HostRefusedError, pauseWrites } from '@mortise/host'
import { acquireFileLock, databaseLockFile } from '@mortise/storage'
import { moveBusy, moveInterrupted } from '../failures/index.ts'

/** How often the command reports to the host that the move continues, in milliseconds. */
const KEEP_EVERY = 1_000

export interface MovePause {
  /** Whether a host runs, and refuses writes; otherwise no process has the database open. */
  readonly byHost: boolean
  /** @throws {Failure} if the host has ended the pause */
  assertPaused(): void
  release(): void
}

/**
 * Keeps every process from writing to the SQLite file.
 * @param left the seconds that it still takes, if known: callers of the host see it
 */
export async function pauseForMove(
  directory: string,
  file: string,
  left: () => number | undefined,
): Promise<MovePause> {
  const paused = await pauseWrites(directory, file)
  if (paused === undefined) {
    const lock = acquireFileLock(databaseLockFile(file))
    // A host started a moment ago.
    if (lock === undefined) throw moveBusy()
    return { byHost: false, assertPaused() {}, release: () => lock.release() }
  }
  const end = new AbortController()
  let ended: string | undefined
  const keep = async () => {
    while (ended === undefined) {
      await sleep(KEEP_EVERY, undefined, { signal: end.signal })
      const seconds = left()
      const known = seconds === undefined ? {} : { left: seconds }
      const kept = await callRunningHost(directory, 'keep', known).catch((error) => {
        if (error instanceof HostRefusedError) ended = error.reason
        // A host that does not respond now may do so later. In the end it decides.
        return {}
      })
      if (kept === undefined) ended = 'the running host has ended'
    }
  }
  keep().catch(() => {})
  return {
    byHost: true,
    assertPaused() {
      if (ended !== undefined) throw moveInterrupted({ reason: ended })
    },
    release() {
      end.abort()
      paused.release()
    },
  }
}
