import { endWithParent } from '@mortise/storage'
import type { FromWorker, ToWorker, WorkerFailure } from './worker-messages.ts'

/** Call it once `host` serves. The process ends soon after its supervisor. */
export async function reportServing(host: { url: string; leave(): Promise<void> }): Promise<void> {
  process.on('message', ({ type }: ToWorker) => {
    if (type === 'leave') void host.leave()
  })
  await endWithParent(process.ppid)
  await send({ type: 'serving', url: host.url })
}

/** Notifies the supervisor why this process ends; resolves after delivery. */
export const reportFailure = (failure: WorkerFailure): Promise<void> => send({ type: 'failed', failure })

/** The supervisor may be gone. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}
