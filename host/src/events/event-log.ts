import { setTimeout as pause } from 'node:timers/promises'
import { checkSchema, clauseOf, compileSchema, firstError, type SchemaError } from '@mortise/application'
import {
  byEngine,
  currentTime,
  type Emission,
  type Event,
  type EventQuery,
  type EventLog as EventReader,
  type FoundEvents,
  join,
  many,
  maybeOne,
  run,
  type Sql,
  send,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { type Outbox, openStorage as open, type Storage, type StorageOptions } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'

/** The size limit for the data of an event, in bytes of JSON. */
export const MAX_DATA = 256 * 1024
/**
 * The channel on which hosts on PostgreSQL announce new positions, with the name of their schema.
 */
const CHANNEL = 'mortise_event'
/** Events that get their positions at a time. */
const BATCH = 1_000
/**
 * Pause of a host on a shared database after each look, in milliseconds. What many transactions commit
 * meanwhile is placed together.
 */
const LOOK_PAUSE = 20
/** How often a host on a shared database polls without a notification, in milliseconds. */
const LOOK_INTERVAL = 1_000
/** Events that one read looks at, for some types or a subject. */
const LOOKED_THROUGH = 1_000
/** Events that one run of `forgetOld` deletes at most, to keep transactions short. */
const FORGOTTEN_AT_ONCE = 100

const columns = sql`id, type, source, subject, owner, at, data, traceparent`

/**
 * SQLite serializes write transactions, so an event gets its position at once: one more than the
 * last row.
 * @throws {TypeError} if the data do not match the module's declaration
 */
function insertion(event: Emission['event']): Sql {
  const { id, type, source, subject, owner, traceparent = null } = event
  const data = toJson(event)
  const now = currentTime()
  return byEngine({
    sqlite: sql`
      INSERT INTO mortise_event (id, type, source, subject, owner, at, data, traceparent)
      VALUES (${id}, ${type}, ${source}, ${subject}, ${owner}, ${now}, ${data}, ${traceparent})`,
    postgres: sql`
      INSERT INTO mortise_event_new (id, type, source, subject, owner, at, data, traceparent)
      VALUES (${id}, ${type}, ${source}, ${subject}, ${owner}, ${now}, ${data}, ${traceparent})`,
  })
}

/** The compiled schemas of emitted events. */
const compiled = new WeakMap<object, ReturnType<typeof compileSchema>>()

function toJson({ type, data, schema }: Emission['event']): string {
  let isValid = compiled.get(schema)
  if (isValid === undefined) {
    checkSchema(schema)
    isValid = compileSchema(schema)
    compiled.set(schema, isValid)
  }
  if (!isValid(data)) {
    const wrong = clauseOf(firstError(schema, data) as SchemaError)
    throw new TypeError(`the data of the event ${type} do not match its schema: ${wrong}`)
  }
  const json = JSON.stringify(data)
  if (Buffer.byteLength(json) <= MAX_DATA) return json
  throw new TypeError(
    `the data of the event ${type} exceed ${MAX_DATA} bytes of JSON: emit an id for lookup instead`,
  )
}

/**
 * Locks the assignment of positions. Advisory locks share one number space per database; `hashtext`
 * separates schemas.
 */
const LOCK = sql`SELECT pg_advisory_xact_lock(hashtext('mortise event'), hashtext(current_schema()))`

/** Finds one committed event without a position, if any. */
const unplaced = sql`SELECT 1 FROM mortise_event_new LIMIT 1`

/** The next positions, in the order of `seq`, for the rows of a table without positions. */
const placed = (rows: Sql) => sql`
  INSERT INTO mortise_event (position, ${columns})
  SELECT (SELECT coalesce(max(position), 0) FROM mortise_event) + row_number() OVER (ORDER BY seq), ${columns}
  FROM ${rows} WHERE true ORDER BY seq LIMIT ${BATCH}`

/** One statement, which begins once the lock is held, and so sees what the last holder has placed. */
const place = byEngine({
  sqlite: placed(sql`mortise_event_new`),
  postgres: sql`
    WITH taken AS (
      DELETE FROM mortise_event_new
      WHERE seq IN (SELECT seq FROM mortise_event_new ORDER BY seq LIMIT ${BATCH})
      RETURNING seq, ${columns}
    ), placed AS (${placed(sql`taken`)} RETURNING 1)
    SELECT count(*) AS count, pg_notify(${CHANNEL}, current_schema()) FROM placed HAVING count(*) > 0`,
})

/**
 * Gives committed events without a position the next ones, at most a batch. Must not run in a
 * serializable transaction, which would conflict with every emitting one.
 * @returns whether there may be more
 */
function* assignPositions(isShared: boolean): Transaction<boolean> {
  if (isShared) {
    yield* send(LOCK)
    const moved = yield* maybeOne<{ count: number }>(place)
    return moved?.count === BATCH
  }
  const moved = yield* run(place)
  yield* run(sql`
    DELETE FROM mortise_event_new WHERE EXISTS (
      SELECT 1 FROM mortise_event WHERE mortise_event.id = mortise_event_new.id)`)
  return moved === BATCH
}

export const outbox: Outbox = {
  insertion: ({ event }) => insertion(event),
  unplaced,
  place: assignPositions,
  channel: CHANNEL,
}

/** See `openStorage` of `@mortise/storage`; this one accepts events. */
export const openStorage = (options: StorageOptions): Promise<Storage> => open({ outbox, ...options })

type Row = Omit<Event, 'data'> & { data: string }

const toEvent = (row: Row): Event => ({ ...row, data: JSON.parse(row.data) })

/**
 * The event log as one process sees it. It outlives generations. The first host to find a committed
 * event gives it its position; then every host wakes its listeners.
 */
export class EventLog implements EventReader {
  readonly #storage: Storage
  readonly #log: FastifyBaseLogger
  readonly #listeners = new Set<() => void>()
  readonly #stopListening: () => Promise<void>
  readonly #timer: NodeJS.Timeout | undefined
  /** The newest position that listeners know. */
  #announced = 0
  #looking: Promise<void> | undefined
  #lookAgain = false

  constructor(storage: Storage, log: FastifyBaseLogger) {
    this.#storage = storage
    this.#log = log
    this.#stopListening = storage.onOutbox(() => this.wake())
    if (storage.isShared) this.#timer = setInterval(() => this.wake(), LOOK_INTERVAL).unref()
  }

  async read({ after, limit, types, owner, subject }: EventQuery): Promise<FoundEvents> {
    if (types?.length === 0) return { events: [], next: undefined }
    const wanted = [
      ...(types === undefined ? [] : [sql`type IN (${join(types.map((type) => sql`${type}`))})`]),
      ...(subject === undefined ? [] : [sql`subject = ${subject}`]),
    ]
    const piece = wanted.length === 0 ? undefined : await this.#pieceAfter(after, owner)
    if (piece?.last === null) return { events: [], next: undefined }
    const rows = await this.#storage.many<Row>(sql`
      SELECT position, ${columns} FROM mortise_event
      WHERE ${join([rangeOf(owner, after, piece?.last), ...wanted], ' AND ')}
      ORDER BY ${orderOf(owner)} LIMIT ${limit}`)
    const events = rows.map(toEvent)
    if (events.length === limit) return { events, next: events.at(-1) }
    return { events, next: piece?.next }
  }

  /** The next events that may be looked at one by one, of an owner or of all. */
  async #pieceAfter(after: number, owner: string | undefined) {
    const { last, count } = await this.#storage.one<{ last: number | null; count: number }>(sql`
      SELECT max(position) AS last, count(*) AS count FROM (
        SELECT position FROM mortise_event WHERE ${rangeOf(owner, after)}
        ORDER BY ${orderOf(owner)} LIMIT ${LOOKED_THROUGH}) AS piece`)
    if (count < LOOKED_THROUGH) return { last, next: undefined }
    const next = await this.#storage.maybeOne<Pick<Event, 'id' | 'position'>>(
      sql`SELECT id, position FROM mortise_event WHERE position = ${last}`,
    )
    return { last, next }
  }

  async last(): Promise<number> {
    const { last } = await this.#storage.one<{ last: number }>(
      sql`SELECT coalesce(max(position), 0) AS last FROM mortise_event`,
    )
    return last
  }

  async newest(owner?: string): Promise<Event | undefined> {
    const among = owner === undefined ? sql`` : sql`WHERE owner = ${owner}`
    const row = await this.#storage.maybeOne<Row>(sql`
      SELECT position, ${columns} FROM mortise_event ${among} ORDER BY position DESC LIMIT 1`)
    return row && toEvent(row)
  }

  async find(id: string, owner?: string): Promise<number | undefined> {
    const among =
      owner === undefined
        ? sql``
        : sql`AND (owner = ${owner} OR EXISTS (
            SELECT 1 FROM mortise_guest AS guest
            WHERE guest.id = substr(owner, 7) AND 'guest:' || guest.id = owner AND guest.claimed_by = ${owner}))`
    const found = await this.#storage.maybeOne<{ position: number }>(
      sql`SELECT position FROM mortise_event WHERE id = ${id} ${among}`,
    )
    return found?.position
  }

  onMore(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Deletes the oldest events from before a time.
   * @returns whether there may be more
   */
  forgetOld(before: number): Transaction<boolean> {
    return deleteOldest(before, FORGOTTEN_AT_ONCE)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#stopListening()
    this.#lookAgain = false
    await this.#looking
  }

  /** Call it once the host's tables exist; after that it wakes by itself. */
  wake(): void {
    this.#lookAgain = true
    this.#looking ??= this.#look()
  }

  async #announce(): Promise<void> {
    if (this.#listeners.size === 0) return
    const last = await this.last()
    if (last === this.#announced) return
    this.#announced = last
    for (const listener of this.#listeners) listener()
  }

  async #look(): Promise<void> {
    try {
      while (this.#lookAgain) {
        this.#lookAgain = false
        await this.#storage.sequenceOutbox()
        await this.#announce()
        if (this.#storage.isShared) await pause(LOOK_PAUSE)
      }
    } catch (error) {
      // The next look comes within a second, or with the next event.
      this.#log.debug(error, 'cannot look for new events')
    } finally {
      // Runs in the same turn as the last look at `#lookAgain`; otherwise a `wake` in between would
      // be lost.
      this.#looking = undefined
    }
  }
}

/** The order of such events, as their index has it. */
const orderOf = (owner: string | undefined) => (owner === undefined ? sql`position` : sql`owner, position`)

/**
 * The events after a position, up to another, of an owner or of all. Rows are compared for PostgreSQL,
 * which otherwise may search all events for a common owner.
 */
function rangeOf(owner: string | undefined, after: number, last: number | null = null): Sql {
  const upTo = last ?? Number.MAX_SAFE_INTEGER
  const all = sql`position > ${after} AND position <= ${upTo}`
  if (owner === undefined) return all
  return byEngine({
    sqlite: sql`owner = ${owner} AND ${all}`,
    postgres: sql`(owner, position) > (${owner}, ${after}) AND (owner, position) <= (${owner}, ${upTo})`,
  })
}

/**
 * Deletes the oldest events from before a time, at most `limit`. Keeps the newest one, and those
 * that hold the body of a response for an Idempotency-Key.
 * @returns whether there may be more
 */
export function* deleteOldest(before: number, limit: number): Transaction<boolean> {
  // Skips old events that must stay, so that they do not block others.
  const old = yield* many<Pick<Event, 'position'>>(sql`
    SELECT position FROM mortise_event WHERE at < ${before}
      AND position IN (
        SELECT position FROM mortise_event AS candidate
        WHERE at >= ${before}
          OR NOT EXISTS (SELECT 1 FROM mortise_idempotency AS kept WHERE kept.event = candidate.id)
        ORDER BY position LIMIT ${limit})
      AND position < (SELECT max(position) FROM mortise_event)`)
  if (old.length === 0) return false
  yield* run(
    sql`DELETE FROM mortise_event WHERE position IN (${join(old.map(({ position }) => sql`${position}`))})`,
  )
  return old.length === limit
}
