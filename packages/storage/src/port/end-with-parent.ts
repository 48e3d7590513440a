import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * Ends this process soon after the one that has started it: that one may be killed, and what runs here may keep this
 * thread busy for ever, so another one looks. Resolves when it does: it cannot begin while this one is busy.
 * @param parent the id of that process; it may be gone before this one can ask
 */
export async function endWithParent(parent: number): Promise<void> {
  const watchdog = `setInterval(() => process.ppid === ${parent} || process.kill(process.pid, 'SIGKILL'), 500)`
  const worker = new Worker(watchdog, { eval: true })
  await once(worker, 'online')
  worker.unref()
}
