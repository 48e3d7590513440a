import type { Database, Transaction } from '@mortise/module-sdk'
import { isLoggedElsewhere } from '@mortise/storage'
import type { FastifyInstance } from 'fastify'
import { Lease } from './lease.ts'

const MINUTE = 60_000
/** After a longer gap the clock may be wrong, in milliseconds. */
const GAP = 60 * MINUTE
/** How long work waits then: what it deletes because of a wrong clock is lost. */
const PATIENCE = 15 * MINUTE

/**
 * Does `work` once a minute, by one of all hosts on the database, until `app` is closed. Where nobody has done it for
 * more than an hour, the host was stopped, or a clock is ahead: it waits for a quarter of an hour, in which the clock
 * can be put right.
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
  /** Since when it waits, on the clock of `performance`. */
  let waitingSince: number | undefined

  /** @param age how long ago anybody did it, in milliseconds */
  function mustWait(age = 0): boolean {
    if (age <= GAP) {
      waitingSince = undefined
    } else if (waitingSince === undefined) {
      waitingSince = performance.now()
      const hours = Math.floor(age / GAP)
      app.log.info(
        `"${name}" last ran ${hours} h ago by the clock, and waits for ${PATIENCE / MINUTE} minutes: if the clock is wrong, put it right`,
      )
    }
    return waitingSince !== undefined && performance.now() - waitingSince < PATIENCE
  }

  async function runAll(): Promise<void> {
    let more = true
    while (more && !closing) {
      const state = await database.transaction(function* () {
        const waits = mustWait(yield* lease.age())
        const taken = !waits && (yield* lease.take())
        return { taken, more: taken && (yield* work()) }
      })
      holds = state.taken
      more = state.more
    }
  }

  const timer = setInterval(() => {
    running ??= runAll()
      .catch((error) =>
        app.log[isLoggedElsewhere(error) ? 'debug' : 'error'](
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
