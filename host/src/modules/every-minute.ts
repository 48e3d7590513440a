import type { Database, Transaction } from '@mortise/module-sdk'
import type { FastifyInstance } from 'fastify'
import { isTold } from '../storage/is-refusal.ts'
import { Lease } from '../storage/lease.ts'

const MINUTE = 60_000

/**
 * Does `work` once a minute, by one of all hosts on the database, until `app` is closed.
 *
 * @param name of all hosts, or generations, that use the same one works at a time
 * @param work one transaction, run again at once while it answers true
 */
export function everyMinute(
  app: FastifyInstance,
  database: Database,
  name: string,
  work: () => Transaction<boolean>,
): void {
  const lease = new Lease(name)
  let holds = false
  let closing = false
  let running: Promise<void> | undefined

  async function runAll(): Promise<void> {
    let more = true
    while (more && !closing) {
      const state = await database.transaction(function* () {
        const taken = yield* lease.take()
        return { taken, more: taken && (yield* work()) }
      })
      holds = state.taken
      more = state.more
    }
  }

  const timer = setInterval(() => {
    running ??= runAll()
      .catch((error) =>
        app.log[isTold(error) ? 'debug' : 'error'](
          error,
          `"${name}" failed; it is tried again within a minute`,
        ),
      )
      .finally(() => {
        running = undefined
      })
  }, MINUTE)
  timer.unref()
  app.addHook('onClose', async () => {
    closing = true
    clearInterval(timer)
    await running
    // Where that fails it ends by itself.
    if (holds) await database.transaction(() => lease.release()).catch(() => {})
  })
}
