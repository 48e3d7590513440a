import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { carryError } from './carried-error.ts'
import type { ThreadAnswer, ThreadWork } from './change-in-thread.ts'
import type { Connection } from './connection.ts'
import { openWriter } from './open-connections.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { applyChange } from './schema-change.ts'

// The thread of changeInThread: answers when the change is committed, and ends when the log is in the database.

/** How often, and how long apart, the log is taken over, while a reader needs what it replaces. */
const TIMES = 20
const PAUSE_MS = 50

const { file, change } = workerData as ThreadWork
const answer = (message: ThreadAnswer) => parentPort?.postMessage(message)

try {
  const connection = openWriter(file)
  try {
    answer({ result: await retryWhileBusy(() => applyChange(connection, change)) })
    await takeLogOver(connection)
  } finally {
    connection.database.close()
  }
} catch (error) {
  answer({ error: carryError(error) })
}

/** What is left in the log would be taken over by the next COMMIT of the host, on its event loop. */
async function takeLogOver({ database }: Connection): Promise<void> {
  for (let time = 0; time < TIMES; time++) {
    try {
      const [{ log, checkpointed }] = database.pragma('wal_checkpoint(PASSIVE)') as [
        { log: number; checkpointed: number },
      ]
      if (log === checkpointed) return
    } catch {
      // The change is committed all the same; the next COMMIT tries it again.
      return
    }
    await pause(PAUSE_MS)
  }
}
