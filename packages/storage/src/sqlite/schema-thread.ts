import { parentPort, workerData } from 'node:worker_threads'
import { checkpointOnOpen } from './checkpoint-on-open.ts'
import { retryWhileBusy } from './connection.ts'
import { openWriter } from './open-connections.ts'
import type { ThreadResult } from './run-in-thread.ts'
import { applyChange, type SchemaChange } from './schema-change.ts'
import { serializeError } from './serialized-error.ts'

// A thread that changes the schema. It responds after the commit. Nobody else writes before its
// end.

export interface SchemaWork {
  readonly file: string
  readonly change: SchemaChange
}

const { file, change } = workerData as SchemaWork
const post = (message: ThreadResult) => parentPort?.postMessage(message)

try {
  const connection = openWriter(file)
  try {
    post({ result: await retryWhileBusy(() => applyChange(connection, change)) })
    await checkpointOnOpen(connection.database)
  } finally {
    connection.database.close()
  }
} catch (error) {
  post({ error: serializeError(error) })
}
