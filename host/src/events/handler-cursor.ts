import { now, run, type Sql, sql, type Transaction } from '@mortise/module-sdk'
import { lasts } from './handler-times.ts'

export interface CursorState {
  /** Every event up to here is done, or waits in `mortise_failed_event`. */
  readonly position: number
  /** How long the lease of another host may still last, in milliseconds. */
  readonly heldFor: number
  /** When the next waiting event is due, in milliseconds; null without one. */
  readonly dueIn: number | null
  /** The current time, in epoch milliseconds. */
  readonly now: number
}

/**
 * The cursor of a module in the event log. Each handled event moves or keeps the cursor in its own
 * transaction, and only if no one else has moved it, so it is handled once on any number of hosts.
 * The lease only saves the other hosts useless work.
 */
export class Subscription {
  readonly #name: string
  readonly #holder: string
  readonly #term: number
  readonly #isHeld: Sql

  /**
   * @param holder the process at work, shared by its generations
   * @param term the duration of the lease, in milliseconds
   */
  constructor(name: string, holder: string, term: number) {
    this.#name = name
    this.#holder = holder
    this.#term = term
    this.#isHeld = lasts(sql`held_until`, term)
  }

  /** Begins at the newest event, unless it has begun before. */
  *begin(): Transaction<void> {
    yield* run(sql`
      INSERT INTO mortise_subscription (name, position, holder, held_until)
      SELECT CAST(${this.#name} AS TEXT), coalesce(max(position), 0), '', 0 FROM mortise_event WHERE true
      ON CONFLICT (name) DO NOTHING`)
  }

  /** Selects `CursorState`, or no row before the subscription has begun. */
  progress(): Sql {
    return sql`
      SELECT position, ${now} AS now,
        CASE WHEN holder <> ${this.#holder} AND ${this.#isHeld} THEN held_until - ${now} ELSE 0 END AS "heldFor",
        (SELECT min(next_at) FROM mortise_failed_event WHERE subscription = ${this.#name}) - ${now} AS "dueIn"
      FROM mortise_subscription WHERE name = ${this.#name}`
  }

  /** Moves the cursor. False if another holder has moved it or has the lease. */
  *advance(from: number, to: number): Transaction<boolean> {
    const moved = yield* run(sql`
      UPDATE mortise_subscription SET position = ${to}, holder = ${this.#holder}, held_until = ${now} + ${this.#term}
      WHERE name = ${this.#name} AND position = ${from} AND (holder = ${this.#holder} OR NOT ${this.#isHeld})`)
    return moved > 0
  }

  /** Ends the lease, so that any host can take it. */
  *release(): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_subscription SET held_until = 0
      WHERE name = ${this.#name} AND holder = ${this.#holder} AND held_until > ${now}`)
  }
}
