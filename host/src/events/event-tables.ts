import { run, sql, type Transaction } from '@mortise/module-sdk'
import type { Engine } from '@mortise/storage'

/**
 * The channel on which hosts on PostgreSQL announce new positions, with the name of their schema.
 */
export const EVENTS_CHANNEL = 'mortise_event'
/** Events that get their positions at a time. */
const BATCH = 1_000

/**
 * Locks the assignment of positions. Advisory locks share one number space per database; `hashtext`
 * separates schemas.
 */
const LOCK = sql`SELECT pg_advisory_xact_lock(hashtext('mortise event'), hashtext(current_schema()))`

const columns = sql`id, type, source, subject, owner, at, data, traceparent`

/** Finds one committed event without a position, if any. */
export const unplaced = sql`SELECT 1 FROM mortise_event_new LIMIT 1`

/**
 * Gives committed events without a position the next ones, at most a batch. Must not run in a
 * serializable transaction, which would conflict with every emitting one.
 * @returns their number
 */
export function* assignPositions(engine: Engine): Transaction<number> {
  if (engine === 'postgres') yield* run(LOCK)
  const moved = yield* run(sql`
    INSERT INTO mortise_event (position, ${columns})
    SELECT (SELECT coalesce(max(position), 0) FROM mortise_event) + row_number() OVER (ORDER BY seq), ${columns}
    FROM mortise_event_new WHERE true ORDER BY seq LIMIT ${BATCH}`)
  if (moved === 0) return 0
  yield* run(sql`
    DELETE FROM mortise_event_new WHERE EXISTS (
      SELECT 1 FROM mortise_event WHERE mortise_event.id = mortise_event_new.id)`)
  if (engine === 'postgres') yield* run(sql`SELECT pg_notify(${EVENTS_CHANNEL}, current_schema())`)
  return moved
}

/**
 * Deletes the oldest events from before a time, at most `limit`. Keeps the newest one, and those
 * that hold the body of a response for an Idempotency-Key.
 * @returns whether there may be more
 */
export function* deleteOldest(before: number, limit: number): Transaction<boolean> {
  // Skips old events that must stay, so that they do not block others.
  const deleted = yield* run(sql`
    DELETE FROM mortise_event WHERE at < ${before}
      AND position IN (
        SELECT position FROM mortise_event AS candidate
        WHERE at >= ${before}
          OR NOT EXISTS (SELECT 1 FROM mortise_idempotency AS kept WHERE kept.event = candidate.id)
        ORDER BY position LIMIT ${limit})
      AND position < (SELECT max(position) FROM mortise_event)`)
  return deleted === limit
}
