import { parentPort, workerData } from 'node:worker_threads'
import { carryError } from './carried-error.ts'
import { copyDatabase } from './copy-database.ts'
import { openWriter } from './open-connections.ts'
import type { ThreadAnswer } from './run-in-thread.ts'
import { takeLogOver } from './take-log-over.ts'

// A thread that copies a database as of the moment in which it begins, while others write.

export interface CopyWork {
  readonly source: string
  readonly file: string
}

const { source, file } = workerData as CopyWork
const answer = (message: ThreadAnswer) => parentPort?.postMessage(message)

try {
  const connection = openWriter(source)
  const { database } = connection
  try {
    // A copy begins anew whenever another connection has written, unless it is of a moment that is read already.
    database.exec('BEGIN')
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    try {
      await copyDatabase(database, file)
    } finally {
      database.exec('COMMIT')
      await takeLogOver(connection)
    }
  } finally {
    database.close()
  }
  answer({ result: undefined })
} catch (error) {
  answer({ error: carryError(error) })
}
