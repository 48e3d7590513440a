import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { deserializeError, type SerializedError } from './serialized-error.ts'

/** The only message of a thread. */
export type ThreadResult = { readonly result: unknown } | { readonly error: SerializedError }

/**
 * Starts a thread and waits for its end.
 * @param name of its script in this folder: `schema-thread`
 * @param onResult called with its message; the thread may continue
 * @returns the result in that message
 */
export function runInThread(name: string, workerData: object, onResult = () => {}): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  let result: ThreadResult | undefined
  const script = new URL(`${name}${extname(import.meta.filename)}`, import.meta.url)
  const worker = new Worker(script, { workerData, execArgv: [] })
  worker.on('message', (message: ThreadResult) => {
    result ??= message
    if ('result' in message) onResult()
  })
  worker.once('error', reject)
  worker.once('exit', () => {
    if (result === undefined) reject(new Error(`the ${name} ended without a result`))
    else if ('error' in result) reject(deserializeError(result.error))
    else resolve(result.result)
  })
  return promise
}
