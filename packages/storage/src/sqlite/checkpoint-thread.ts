import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointCounts, CheckpointMode, CheckpointReply } from './checkpoints.ts'
import { openWriter } from './open-connections.ts'
import { serializeError } from './serialized-error.ts'

// A thread that runs a checkpoint for each message: its fsyncs would block the host's event loop.

const { file } = workerData as { readonly file: string }
const { database } = openWriter(file)
const prepare = (mode: CheckpointMode) => database.prepare(`PRAGMA wal_checkpoint(${mode})`).raw()
const checkpoints = { PASSIVE: prepare('PASSIVE'), TRUNCATE: prepare('TRUNCATE') }

parentPort?.on('message', (mode: CheckpointMode) => parentPort?.postMessage(reply(mode)))

function reply(mode: CheckpointMode): CheckpointReply {
  try {
    return { counts: checkpoints[mode].get() as CheckpointCounts }
  } catch (error) {
    return { error: serializeError(error) }
  }
}
