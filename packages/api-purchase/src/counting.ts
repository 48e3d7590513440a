import type { Database, ModuleInstance } from '@mortise/module-sdk'
import { foldCounts } from './repository.ts'

const SECOND = 1_000

/** Keeps what is still to be counted short, for as long as the module serves. Several hosts may do so at once. */
export function countRegularly(app: ModuleInstance, database: Database): void {
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running
      .then(() => database.transaction(foldCounts))
      .catch((error) =>
        app.log.error(error, 'purchases could not be counted; their totals are right nonetheless'),
      )
  }, SECOND)
  timer.unref()
  app.addHook('onClose', async () => {
    clearInterval(timer)
    await running
  })
}
