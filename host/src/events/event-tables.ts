import { run, sql, type Transaction } from '@mortise/module-sdk'
import type { Engine } from '@mortise/storage'

/** Where hosts on PostgreSQL tell each other that there are new positions, with the name of their schema. */
export const EVENTS_CHANNEL = 'mortise_event'
/** How many events get their positions at a time. */
const BATCH = 1_000

/** Locks what gives positions; PostgreSQL has one such number space for a database, and `hashtext` keeps schemas apart. */
const LOCK = sql`SELECT pg_advisory_xact_lock(hashtext('mortise event'), hashtext(current_schema()))`

const columns = sql`id, type, source, subject, owner, at, data, traceparent`

/** Finds one that was committed without a position, if there is any. */
export const unplaced = sql`SELECT 1 FROM mortise_event_new LIMIT 1`

/**
 * Gives those that were committed without a position the next ones; answers how many, at most a batch. Not for a
 * serializable transaction, which every emitting one would conflict with.
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
 * Deletes the oldest that happened before a time, at most `limit`; answers whether there may be more of them. The newest
 * stays, and so do those that have the body of an answer that is kept for its Idempotency-Key.
 */
export function* deleteOldest(before: number, limit: number): Transaction<boolean> {
  // Those that are old and stay are passed over, so that they do not keep others.
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
