import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type CarriedError, carriedError } from './carried-error.ts'
import type { SchemaChange } from './schema-change.ts'

export interface ThreadWork {
  readonly file: string
  readonly change: SchemaChange
}

export type ThreadAnswer = { readonly result: unknown } | { readonly error: CarriedError }

const script = new URL(`schema-thread${extname(import.meta.filename)}`, import.meta.url)

/**
 * Changes the schema of a database in a thread, on a connection of its own: a change may go through all rows. Nobody else
 * may write meanwhile. Killed with its process it has changed nothing.
 *
 * @param onCommit called once it is committed; the promise resolves when writing may go on
 * @returns what `applyChange` answers
 */
export function changeInThread(work: ThreadWork, onCommit: () => void): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  let answer: ThreadAnswer | undefined
  const worker = new Worker(script, { workerData: work, execArgv: [] })
  worker.on('message', (message: ThreadAnswer) => {
    answer ??= message
    if ('result' in message) onCommit()
  })
  worker.once('error', reject)
  worker.once('exit', () => {
    if (answer === undefined) reject(new Error('the thread that changes the schema ended without an answer'))
    else if ('error' in answer) reject(carriedError(answer.error))
    else resolve(answer.result)
  })
  return promise
}
