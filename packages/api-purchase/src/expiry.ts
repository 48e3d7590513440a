import type { Database, ModuleInstance } from '@mortise/module-sdk'
import { expirePending } from './service.ts'

const MINUTE = 60_000

/**
 * Expires purchases that have been pending for `age` milliseconds, once a minute for as long as the module serves.
 * Several hosts, or two generations of one, may do so at once: each purchase expires in one transaction.
 */
export function expireRegularly(app: ModuleInstance, database: Database, age: number): void {
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running
      .then(() => expireAll(database, age))
      .catch((error) => app.log.error(error, 'purchases did not expire'))
  }, MINUTE)
  timer.unref()
  app.addHook('onClose', async () => {
    clearInterval(timer)
    await running
  })
}

async function expireAll(database: Database, age: number): Promise<void> {
  while (await database.transaction(() => expirePending(Date.now() - age)));
}
