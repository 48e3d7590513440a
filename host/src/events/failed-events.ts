import { type Event, maybeOne, run, type Sql, sql, type Transaction } from '@mortise/module-sdk'
import { now, TOLERANCE } from '@mortise/storage'

/** An event whose turn it is again. */
export interface DueEvent {
  /** JSON. */
  readonly event: string
  /** How often it has failed. */
  readonly attempts: number
}

/** The events on which one module has failed. Of each subject one is tried, the earliest; the others queue behind it. */
export class FailedEvents {
  readonly #subscription: string

  constructor(subscription: string) {
    this.#subscription = subscription
  }

  /** Whether an event of this subject has to queue. */
  *hasSubject(subject: string): Transaction<boolean> {
    const waiting = yield* maybeOne(sql`
      SELECT 1 FROM mortise_reaction
      WHERE subscription = ${this.#subscription} AND subject = ${subject} AND state = 'waiting' LIMIT 1`)
    return waiting !== undefined
  }

  *queue(event: Event): Transaction<void> {
    yield* run(sql`
      INSERT INTO mortise_reaction (subscription, position, event_id, subject, event, attempts, state)
      VALUES (${this.#subscription}, ${event.position}, ${event.id}, ${event.subject}, ${JSON.stringify(event)}, 0, 'waiting')`)
  }

  /** Answers the `DueEvent` that has been due for longest, if any is. */
  due(): Sql {
    return sql`
      SELECT event, attempts FROM mortise_reaction
      WHERE subscription = ${this.#subscription} AND next_at <= ${now} ORDER BY next_at, position LIMIT 1`
  }

  /**
   * Makes due what a clock that was ahead has put off: whatever lies further ahead than the pause after its attempts.
   * @param pauses the longest after each attempt, in milliseconds
   */
  *makeDue(pauses: readonly number[]): Transaction<void> {
    const pause = pauses.reduce(
      (cases, longest, index) => sql`${cases} WHEN ${index + 1} THEN ${longest}`,
      sql`CASE attempts WHEN 0 THEN 0`,
    )
    yield* run(sql`
      UPDATE mortise_reaction SET next_at = ${now}
      WHERE subscription = ${this.#subscription} AND next_at > ${now} + ${TOLERANCE} + ${pause} ELSE 0 END`)
  }

  /** Takes out one that is to be done now, and has the next of its subject follow. False where somebody has done that. */
  *settle({ position, subject }: Event): Transaction<boolean> {
    const taken = yield* run(sql`
      DELETE FROM mortise_reaction
      WHERE subscription = ${this.#subscription} AND position = ${position} AND state = 'waiting'`)
    if (taken > 0) yield* this.#follow(subject)
    return taken > 0
  }

  /**
   * Notes another failure, unless it was tried, or made due, by somebody else meanwhile.
   * @param attempts those before
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
      UPDATE mortise_reaction SET attempts = attempts + 1, error = ${error}, next_at = ${nextAt},
        state = ${delay === undefined ? 'dead' : 'waiting'}
      WHERE subscription = ${this.#subscription} AND position = ${position} AND attempts = ${attempts}
        AND state = 'waiting'`)
    if (postponed > 0 && delay === undefined) yield* this.#follow(subject)
  }

  /** Makes the earliest that waits of a subject due. */
  *#follow(subject: string): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_reaction SET next_at = ${now}
      WHERE subscription = ${this.#subscription} AND position = (
        SELECT min(position) FROM mortise_reaction
        WHERE subscription = ${this.#subscription} AND subject = ${subject} AND state = 'waiting')`)
  }
}
