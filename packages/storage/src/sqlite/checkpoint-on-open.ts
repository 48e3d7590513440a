import { setTimeout as pause } from 'node:timers/promises'
import type SqliteDatabase from 'better-sqlite3'

/** Number and distance of the tries while a reader needs the pages to be replaced. */
const TIMES = 20
const PAUSE_MS = 50

/**
 * Runs a checkpoint in a thread. The host's next checkpoint (`Checkpoints`) would otherwise do the
 * work and block its event loop. A failure is left to that one.
 */
export async function checkpointOnOpen(database: SqliteDatabase.Database): Promise<void> {
  for (let time = 0; time < TIMES; time++) {
    try {
      const [state] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[]
      if (state?.log === state?.checkpointed) return
    } catch {
      return
    }
    await pause(PAUSE_MS)
  }
}
