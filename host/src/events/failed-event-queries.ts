import { type Event, many, now, run, type Sql, sql, type Transaction, timestamp } from '@mortise/module-sdk'
import { MOST_ROWS } from '@mortise/storage'

export interface SubscriptionState {
  readonly module: string
  /** Events after the cursor, of all types. */
  readonly behind: number
  /** Failed events that will be retried, and the events that queue behind them. */
  readonly waiting: number
  /** Dead letters. */
  readonly dead: number
}

export interface FailedEvent {
  readonly module: string
  /** The id of the event. */
  readonly event: string
  readonly type: string
  readonly subject: string
  readonly state: 'waiting' | 'dead'
  readonly attempts: number
  /** The error of the last attempt. */
  readonly error: string
  /** RFC 3339; null for a dead letter, and behind an earlier event of its subject. */
  readonly nextAttemptAt: string | null
}

export interface EventHandlerState {
  readonly subscriptions: readonly SubscriptionState[]
  /** Oldest events first. */
  readonly failed: readonly FailedEvent[]
}

/** Selects failed events: all, those of one event, or those of one module. */
export interface FailedChoice {
  readonly event?: string
  readonly module?: string
}

export type ChosenEvent = Pick<FailedEvent, 'module' | 'event' | 'type' | 'subject'>

/** Selects `module` and `dead`, the number of dead letters, for modules that have any. */
export const countDeadLetters = sql`
  SELECT subscription AS module, count(*) AS dead FROM mortise_failed_event WHERE state = 'dead'
  GROUP BY subscription ORDER BY subscription`

export function readSubscriptions(): Transaction<SubscriptionState[]> {
  const count = (state: FailedEvent['state']) => sql`
    (SELECT count(*) FROM mortise_failed_event WHERE subscription = name AND state = ${state})`
  return many<SubscriptionState>(sql`
    SELECT name AS module, (SELECT coalesce(max(position), 0) FROM mortise_event) - position AS behind,
      ${count('waiting')} AS waiting, ${count('dead')} AS dead
    FROM mortise_subscription ORDER BY name`)
}

/** @param limit for failed events */
export function* readFailedEvents(limit: number): Transaction<EventHandlerState> {
  const subscriptions = yield* readSubscriptions()
  const rows = yield* many<Row & Omit<FailedEvent, 'nextAttemptAt'> & { nextAt: number | null }>(sql`
    SELECT subscription AS module, event, state, attempts, error, next_at AS "nextAt"
    FROM mortise_failed_event WHERE error IS NOT NULL ORDER BY position, subscription LIMIT ${Math.min(limit, MOST_ROWS)}`)
  const failed = rows.map(({ nextAt, ...row }) => {
    return { ...row, ...chosen(row), nextAttemptAt: nextAt === null ? null : timestamp(nextAt) }
  })
  return { subscriptions, failed }
}

/** With all their attempts: the earliest of each subject first, the others after it. */
export function* replay(choice: FailedChoice): Transaction<ChosenEvent[]> {
  const rows = yield* many<Row>(sql`
    UPDATE mortise_failed_event SET state = 'waiting', attempts = 0, next_at = NULL
    WHERE ${condition(choice)} RETURNING subscription AS module, event`)
  yield* arrange()
  return rows.map(chosen)
}

/** Discards failed events; the events behind them continue. */
export function* discard(choice: FailedChoice & { readonly event: string }): Transaction<ChosenEvent[]> {
  const rows = yield* many<Row>(sql`
    DELETE FROM mortise_failed_event WHERE ${condition(choice)} RETURNING subscription AS module, event`)
  if (rows.length > 0) yield* arrange()
  return rows.map(chosen)
}

/** Deletes a module's cursor: after its next installation the module begins with new events. */
export function* deleteSubscription(module: string): Transaction<void> {
  yield* run(sql`DELETE FROM mortise_failed_event WHERE subscription = ${module}`)
  yield* run(sql`DELETE FROM mortise_subscription WHERE name = ${module}`)
}

interface Row {
  readonly module: string
  /** JSON. */
  readonly event: string
}

function chosen({ module, event }: Row): ChosenEvent {
  const { id, type, subject }: Event = JSON.parse(event)
  return { module, event: id, type, subject }
}

function condition({ event, module }: FailedChoice): Sql {
  const ofEvent = event === undefined ? sql`` : sql`AND event_id = ${event}`
  const ofModule = module === undefined ? sql`` : sql`AND subscription = ${module}`
  return sql`error IS NOT NULL ${ofEvent} ${ofModule}`
}

/** Makes the earliest waiting event of each subject due, and no other. */
function* arrange(): Transaction<void> {
  yield* run(sql`
    UPDATE mortise_failed_event SET next_at = CASE WHEN next_at IS NULL THEN ${now} END
    WHERE state = 'waiting' AND (next_at IS NULL) <> EXISTS (
      SELECT 1 FROM mortise_failed_event AS earlier
      WHERE earlier.subscription = mortise_failed_event.subscription AND earlier.subject = mortise_failed_event.subject
        AND earlier.state = 'waiting' AND earlier.position < mortise_failed_event.position)`)
}
