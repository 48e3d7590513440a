import { open } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { checkpointOnOpen } from './checkpoint-on-open.ts'
import { openSeparate } from './open-connections.ts'
import type { ThreadResult } from './run-in-thread.ts'
import { serializeError } from './serialized-error.ts'

// A thread that copies a database, as of its start, into an existing empty file.

export interface CopyWork {
  readonly source: string
  readonly file: string
}

/**
 * After this many steps of 100 pages (400 KiB) the copy is synced, since COMMITs would otherwise
 * wait for all of it.
 */
const STEPS_PER_SYNC = 20

const { source, file } = workerData as CopyWork
const answer = (message: ThreadResult) => parentPort?.postMessage(message)

try {
  const database = openSeparate(source)
  try {
    // A copy restarts after every write of another connection, unless a read transaction fixes its
    // moment.
    database.exec('BEGIN')
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    try {
      await backUp(database)
    } finally {
      database.exec('COMMIT')
      await checkpointOnOpen(database)
    }
  } finally {
    database.close()
  }
  answer({ result: undefined })
} catch (error) {
  answer({ error: serializeError(error) })
}

async function backUp(database: SqliteDatabase.Database): Promise<void> {
  const handle = await open(file, 'r+')
  let steps = 0
  let syncing: Promise<void> | undefined
  try {
    await database.backup(file, {
      progress() {
        steps += 1
        if (steps % STEPS_PER_SYNC === 0) {
          // If it fails, so does the last sync, which is awaited.
          syncing ??= handle
            .datasync()
            .catch(() => {})
            .finally(() => {
              syncing = undefined
            })
        }
        return 100
      },
    })
  } finally {
    await syncing
    await handle.close()
  }
  // A copy of a database in WAL mode is in that mode too, and would need another file for reads. If
  // the file is gone, its command was killed, and the next one has removed the remains.
  const copy = openDatabase(file, { fileMustExist: true })
  copy.pragma('journal_mode = DELETE')
  copy.close()
}
