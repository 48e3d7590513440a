import { createHash } from 'node:crypto'
import { type Database, many, now, run, sql } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import {
  type LimitName,
  type RateLimits,
  type Unsynced,
  WINDOW,
  type WindowCounter,
} from './window-counter.ts'

/** How often the hosts of a database exchange counts, in milliseconds. */
const INTERVAL = 2_000
/** Keys per limit and exchange. */
const MOST_KEYS = 1_000

const MINUTE = sql`(${now} / ${WINDOW}::bigint)`

interface Synced extends Unsynced {
  readonly counter: WindowCounter
  /** A hash of limit and key, so the database does not learn who calls. */
  readonly id: string
}

/**
 * Shares the counts of `RateLimits` between the hosts of a PostgreSQL database: at most one
 * transaction in 2 s, and none until a key has used a tenth of a limit.
 */
export class SharedCounts {
  readonly #database: Database
  readonly #limits: RateLimits
  readonly #log: FastifyBaseLogger
  readonly #timer: NodeJS.Timeout
  #sharing: Promise<void> | undefined

  constructor(database: Database, limits: RateLimits, log: FastifyBaseLogger) {
    this.#database = database
    this.#limits = limits
    this.#log = log
    this.#timer = setInterval(() => void this.share(), INTERVAL).unref()
  }

  /** Exchanges the counts. A failed exchange is repeated the next time. */
  share(): Promise<void> {
    this.#sharing ??= this.#share()
      .catch((error) => this.#log.debug(error, 'cannot share the counts of rate limits with the other hosts'))
      .finally(() => {
        this.#sharing = undefined
      })
    return this.#sharing
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sharing
  }

  async #share(): Promise<void> {
    const time = this.#limits.now()
    const synced = Object.entries(this.#limits.counters).flatMap(([name, counter]) =>
      counter
        .unsynced(time, MOST_KEYS)
        .map((unsynced): Synced => ({ ...unsynced, counter, id: idOf(name as LimitName, unsynced.key) })),
    )
    if (synced.length === 0) return
    const rows = JSON.stringify(synced.map(({ id, window, count }) => ({ id, window, count })))
    const heard = await this.#database.transaction(function* () {
      yield* run(sql`DELETE FROM mortise_rate WHERE minute NOT BETWEEN ${MINUTE} - 1 AND ${MINUTE} + 1`)
      return yield* many<{ id: string; count: number; now: number }>(sql`
        INSERT INTO mortise_rate (id, minute, count)
        SELECT id, "window", count FROM json_to_recordset(${rows}::json) AS synced (id text, "window" bigint, count bigint)
        ORDER BY id
        ON CONFLICT (id, minute) DO UPDATE SET count = mortise_rate.count + excluded.count
        RETURNING id, count, ${now} AS now`)
    })
    const totals = new Map(heard.map(({ id, count }) => [id, count]))
    for (const { counter, id, ...unsynced } of synced) counter.synced(unsynced, totals.get(id) ?? 0)
    if (heard[0] !== undefined) this.#limits.follow(heard[0].now)
  }
}

const idOf = (name: LimitName, key: string) =>
  createHash('sha256').update(`${name} ${key}`).digest('base64url')
