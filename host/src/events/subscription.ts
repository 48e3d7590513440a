import { run, type Sql, sql, type Transaction } from '@mortise/module-sdk'
import { lasts, now } from '@mortise/storage'

/** Where a subscription stands. */
export interface CursorState {
  /** Every event up to here is done, or waits in `mortise_reaction`. */
  readonly position: number
  /** For how long another host may be at work yet, in milliseconds. */
  readonly heldFor: number
  /** When the next of those that wait is due, in milliseconds; null where none is. */
  readonly dueIn: number | null
  /** The time, in epoch milliseconds. */
  readonly now: number
}

/**
 * The mark up to which a module has got with the events. Whatever is done about an event moves or keeps the mark in
 * the same transaction, and only where nobody else has moved it: so it is done once, on however many hosts.
 * That one host at a time is at it spares the others work in vain, and no more.
 */
export class Subscription {
  readonly #name: string
  readonly #holder: string
  readonly #term: number
  readonly #isHeld: Sql

  /**
   * @param holder who is at work; several of one process may share it
   * @param term for how long nobody else is, in milliseconds
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

  /** Answers `CursorState`, or no row before it has begun. */
  progress(): Sql {
    return sql`
      SELECT position, ${now} AS now,
        CASE WHEN holder <> ${this.#holder} AND ${this.#isHeld} THEN held_until - ${now} ELSE 0 END AS "heldFor",
        (SELECT min(next_at) FROM mortise_reaction WHERE subscription = ${this.#name}) - ${now} AS "dueIn"
      FROM mortise_subscription WHERE name = ${this.#name}`
  }

  /** Moves the mark. False where another has moved it, or is at work. */
  *advance(from: number, to: number): Transaction<boolean> {
    const moved = yield* run(sql`
      UPDATE mortise_subscription SET position = ${to}, holder = ${this.#holder}, held_until = ${now} + ${this.#term}
      WHERE name = ${this.#name} AND position = ${from} AND (holder = ${this.#holder} OR NOT ${this.#isHeld})`)
    return moved > 0
  }

  /** Leaves the work to whoever asks next. */
  *release(): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_subscription SET held_until = 0
      WHERE name = ${this.#name} AND holder = ${this.#holder} AND held_until > ${now}`)
  }
}
