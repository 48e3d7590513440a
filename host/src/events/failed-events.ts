import { type Event, maybeOne, now, run, type Sql, sql, type Transaction } from '@mortise/module-sdk'
import { isPostponed } from './handler-times.ts'

/** An event that is due for a retry. */
export interface DueEvent {
  /** JSON. */
  readonly event: string
  /** Failed attempts so far. */
  readonly attempts: number
}

/** Retries the earliest failed event of each subject; the others queue behind it. */
export class FailedEvents {
  readonly #subscription: string

  constructor(subscription: string) {
    this.#subscription = subscription
  }

  /** Whether an event of this subject must queue. */
  *hasSubject(subject: string): Transaction<boolean> {
    const waiting = yield* maybeOne(sql`
      SELECT 1 FROM mortise_failed_event
      WHERE subscription = ${this.#subscription} AND subject = ${subject} AND state = 'waiting' LIMIT 1`)
    return waiting !== undefined
  }

  *queue(event: Event): Transaction<void> {
    yield* run(sql`
      INSERT INTO mortise_failed_event (subscription, position, event_id, subject, event, attempts, state)
      VALUES (${this.#subscription}, ${event.position}, ${event.id}, ${event.subject}, ${JSON.stringify(event)}, 0, 'waiting')`)
  }

  /** Selects the `DueEvent` that has been due for longest, if any. */
  due(): Sql {
    return sql`
      SELECT event, attempts FROM mortise_failed_event
      WHERE subscription = ${this.#subscription} AND next_at <= ${now} ORDER BY next_at, position LIMIT 1`
  }

  /** Makes due what a clock ahead of time has postponed. */
  *makeDue(pauses: readonly number[]): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_failed_event SET next_at = ${now}
      WHERE subscription = ${this.#subscription} AND ${isPostponed(sql`next_at`, pauses)}`)
  }

  /** Ends an event, and makes the next of its subject due. False if another host has done that. */
  *settle({ position, subject }: Event): Transaction<boolean> {
    const taken = yield* run(sql`
      DELETE FROM mortise_failed_event
      WHERE subscription = ${this.#subscription} AND position = ${position} AND state = 'waiting'`)
    if (taken > 0) yield* this.#follow(subject)
    return taken > 0
  }

  /**
   * Records another failure, unless another host has retried the event, or made it due, meanwhile.
   * @param attempts previous attempts
   * @param delay until the next attempt, in milliseconds; undefined after the last
   */
  *postpone(
    { position, subject }: Event,
    attempts: number,
    error: string,
    delay: number | undefined,
  ): Transaction<void> {
    const nextAt = delay === undefined ? sql`NULL` : sql`${now} + ${delay}`
    const postponed = yield* run(sql`
      UPDATE mortise_failed_event SET attempts = attempts + 1, error = ${error}, next_at = ${nextAt},
        state = ${delay === undefined ? 'dead' : 'waiting'}
      WHERE subscription = ${this.#subscription} AND position = ${position} AND attempts = ${attempts}
        AND state = 'waiting'`)
    if (postponed > 0 && delay === undefined) yield* this.#follow(subject)
  }

  /** Makes the earliest waiting event of a subject due. */
  *#follow(subject: string): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_failed_event SET next_at = ${now}
      WHERE subscription = ${this.#subscription} AND position = (
        SELECT min(position) FROM mortise_failed_event
        WHERE subscription = ${this.#subscription} AND subject = ${subject} AND state = 'waiting')`)
  }
}
