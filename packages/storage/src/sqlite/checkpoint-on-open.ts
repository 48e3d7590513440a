import { setTimeout as pause } from 'node:timers/promises'
import type SqliteDatabase from 'better-sqlite3'

/** How often, and how long apart, while a reader needs what would be replaced. */
const TIMES = 20
const PAUSE_MS = 50

/**
 * Has a thread write what is in the log into the database: the next checkpoint of the host (`Checkpoints`) would do so,
 * and hold its event loop. Where it fails it is left to that.
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
