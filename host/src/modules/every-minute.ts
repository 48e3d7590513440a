import { type Database, Loop, type Transaction } from '@mortise/module-sdk'
import type { FastifyInstance } from 'fastify'
import { Lease } from './lease.ts'

const MINUTE = 60_000
/** After a longer gap the clock may be wrong, in milliseconds. */
const GAP = 60 * MINUTE
/** How long to wait then, in milliseconds, because work on a wrong clock would delete data. */
const PATIENCE = 15 * MINUTE

/** Per database: settles after all transactions of jobs so far. */
const turns = new WeakMap<Database, Promise<unknown>>()

/**
 * Runs one transaction of all jobs at a time. Started together, all of them would share a COMMIT and
 * hold the event loop as one.
 */
function inTurn<Result>(database: Database, steps: () => Transaction<Result>): Promise<Result> {
  const result = (turns.get(database) ?? Promise.resolve()).then(() => database.transaction(steps))
  turns.set(
    database,
    result.catch(() => {}),
  )
  return result
}

/**
 * Runs `work` once a minute, on one of all hosts of the database, until `app` is closed. If the
 * last run is more than an hour ago, the host was stopped or a clock is ahead: then it waits for a
 * quarter of an hour, in which the clock can be corrected.
 *
 * @param name all hosts and generations with the same name take turns
 * @param work one transaction, repeated at once while it returns true
 */
export function everyMinute(
  app: FastifyInstance,
  database: Database,
  name: string,
  work: () => Transaction<boolean>,
): void {
  const lease = new Lease(name)
  let holds = false
  let isFirst = true
  /** The start of the wait, on the clock of `performance`. */
  let waitingSince: number | undefined

  /** @param age milliseconds since the last run on any host */
  function mustWait(age = 0): boolean {
    if (age <= GAP) {
      waitingSince = undefined
    } else if (waitingSince === undefined) {
      waitingSince = performance.now()
      const hours = Math.floor(age / GAP)
      app.log.info(
        `"${name}" last ran ${hours} h ago by the clock, so it waits for ${PATIENCE / MINUTE} minutes: correct the clock if it is wrong`,
      )
    }
    return waitingSince !== undefined && performance.now() - waitingSince < PATIENCE
  }

  const loop = new Loop({
    async step() {
      if (isFirst) {
        isFirst = false
        return { ms: MINUTE }
      }
      const { taken, more } = await inTurn(database, function* () {
        const waits = mustWait(yield* lease.age())
        const taken = !waits && (yield* lease.take())
        return { taken, more: taken && (yield* work()) }
      })
      holds = taken
      return { ms: more ? 0 : MINUTE }
    },
    log: app.log,
    trouble: `"${name}" failed`,
    pause: MINUTE,
  })
  loop.begin()
  app.addHook('onClose', async () => {
    await loop.stop()
    // If that fails, the lease expires by itself.
    if (holds) await database.transaction(() => lease.release()).catch(() => {})
  })
}
