import type { Database, ModuleInstance } from '@mortise/module-sdk'
import { foldCounts } from './repository.ts'

const SECOND = 1_000

/** Keeps what is still to be counted short, for as long as the module serves. Several hosts may do so at once. A failure is logged when it begins. */
export function countRegularly(app: ModuleInstance, database: Database): void {
  let running = Promise.resolve()
  let fails = false
  const timer = setInterval(() => {
    running = running
      .then(() => database.transaction(foldCounts))
      .then(() => {
        fails = false
      })
      .catch((error) => {
        const level = fails ? 'debug' : 'warn'
        fails = true
        app.log[level](error, 'purchases could not be counted; their totals are right nonetheless')
      })
  }, SECOND)
  timer.unref()
  app.addHook('onClose', async () => {
    clearInterval(timer)
    await running
  })
}
