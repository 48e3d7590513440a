import {
  type Database,
  isLoggedElsewhere,
  maybeOne,
  newId,
  now,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { FastifyInstance } from 'fastify'
import { lasts } from '../events/handler-times.ts'

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
  let closing = false
  let running: Promise<void> | undefined
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

  async function runAll(): Promise<void> {
    let more = true
    while (more && !closing) {
      const state = await inTurn(database, function* () {
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
          `"${name}" failed; the host tries again within a minute`,
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
    // If that fails, the lease expires by itself.
    if (holds) await database.transaction(() => lease.release()).catch(() => {})
  })
}

/** How long a lease lasts without a sign of life from its holder, in milliseconds. */
const TERM = 120_000

/** Taken in the transaction that does the work, so a holder that has lost it cannot commit. */
class Lease {
  readonly #name: string
  readonly #holder = newId('lease')

  constructor(name: string) {
    this.#name = name
  }

  /** Takes or extends the lease. False if another holder has it. */
  *take(): Transaction<boolean> {
    const taken = yield* run(sql`
      INSERT INTO mortise_lease (name, holder, expires_at)
      VALUES (${this.#name}, ${this.#holder}, ${now} + ${TERM})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
      WHERE mortise_lease.holder = excluded.holder OR NOT ${lasts(sql`mortise_lease.expires_at`, TERM)}`)
    return taken > 0
  }

  /** Milliseconds since anyone took it; undefined if nobody has. */
  *age(): Transaction<number | undefined> {
    const taken = yield* maybeOne<{ age: number }>(
      sql`SELECT ${now} + ${TERM} - expires_at AS age FROM mortise_lease WHERE name = ${this.#name}`,
    )
    return taken?.age
  }

  /** Ends it. The row stays for `age`. */
  *release(): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_lease SET expires_at = ${now} WHERE name = ${this.#name} AND holder = ${this.#holder}`)
  }
}
