import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointCounts, CheckpointReply } from './checkpoints.ts'
import { openWriter } from './open-connections.ts'
import { serializeError } from './serialized-error.ts'

// A thread that runs a checkpoint for each message: its fsyncs would block the host's event loop.

const { file } = workerData as { readonly file: string }
const { database } = openWriter(file)
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').raw()

parentPort?.on('message', () => parentPort?.postMessage(reply()))

function reply(): CheckpointReply {
  try {
    return { counts: checkpoint.get() as CheckpointCounts }
  } catch (error) {
    return { error: serializeError(error) }
  }
}
