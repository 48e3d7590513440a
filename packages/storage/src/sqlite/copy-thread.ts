import { closeSync, fdatasyncSync, openSync } from 'node:fs'
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
 * After this many steps of 100 pages (400 KiB) the copy waits for its sync. COMMITs of the host would
 * otherwise wait for all that is not on the disk.
 */
const STEPS_PER_SYNC = 20

const { source, file } = workerData as CopyWork
const post = (message: ThreadResult) => parentPort?.postMessage(message)

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
  post({ result: undefined })
} catch (error) {
  post({ error: serializeError(error) })
}

async function backUp(database: SqliteDatabase.Database): Promise<void> {
  const descriptor = openSync(file, 'r+')
  let steps = 0
  try {
    await database.backup(file, {
      progress() {
        steps += 1
        if (steps % STEPS_PER_SYNC === 0) fdatasyncSync(descriptor)
        return 100
      },
    })
  } finally {
    closeSync(descriptor)
  }
  // A copy of a database in WAL mode is in that mode too, and would need another file for reads. If
  // the file is gone, its command was killed, and the next one has removed the remains.
  const copy = openDatabase(file, { fileMustExist: true })
  copy.pragma('journal_mode = DELETE')
  copy.close()
}
