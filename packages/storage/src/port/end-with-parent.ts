import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * Ends this process soon after its parent. The parent may be killed, and code here may block this
 * thread forever, so another thread checks. Resolves when that thread runs: it cannot start while
 * this one is blocked.
 * @param parent the id of the parent process, which may end before this process can ask for it
 */
export async function endWithParent(parent: number): Promise<void> {
  const watchdog = `setInterval(() => process.ppid === ${parent} || process.kill(process.pid, 'SIGKILL'), 500)`
  const worker = new Worker(watchdog, { eval: true })
  await once(worker, 'online')
  worker.unref()
}
