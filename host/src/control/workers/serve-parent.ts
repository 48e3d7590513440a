import { endWithParent } from '@mortise/storage'
import type { ControlRequest, ControlResponse } from '../pool.ts'
import type { FromWorker, ToWorker, WorkerFailure } from './worker-messages.ts'

/** A worker, as its parent sees it. */
interface Worker {
  readonly url: string
  silentWorkers: number
  answer(request: ControlRequest): Promise<ControlResponse>
  leave(): Promise<void>
  cut(): Promise<void>
  close(): Promise<void>
  stop(why: string, drainSeconds?: number): Promise<void>
}

/** Call it once `application` serves. The process ends soon after its parent. */
export async function serveParent(application: Worker): Promise<void> {
  process.on('message', (message: ToWorker) => {
    if (message.type === 'ask') void answer(application, message)
    else if (message.type === 'silent') application.silentWorkers = message.count
    else if (message.type === 'leave') void application.leave()
    else if (message.type === 'cut') void application.cut()
    else if (message.type === 'stop') {
      if (message.why === undefined) void application.close()
      else void application.stop(message.why, message.drainSeconds)
    }
  })
  await endWithParent(process.ppid)
  await send({ type: 'serving', url: application.url })
}

/** Tells the parent why this process ends; resolves after delivery. */
export const reportFailure = (failure: WorkerFailure): Promise<void> => send({ type: 'failed', failure })

async function answer(application: Worker, { call, request }: ToWorker & { type: 'ask' }): Promise<void> {
  const answered = await application.answer(request).catch((error: Error) => ({
    status: 500,
    body: { reason: error.message },
  }))
  await send({ type: 'answer', call, answer: answered })
}

/** The parent may be gone. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}
