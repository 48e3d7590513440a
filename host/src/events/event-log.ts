import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import {
  byEngine,
  currentTime,
  type Emission,
  type Event,
  type EventQuery,
  type EventLog as EventReader,
  isLoggedElsewhere,
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
import { checkSchema } from '../config/check-schema.ts'
import { compileSchema, firstError } from '../config/first-error.ts'
import { clauseOf, type SchemaError } from '../config/schema-errors.ts'
import { extendLists, findListed, findLists, positionsOf, unlist, unlisted } from './event-lists.ts'

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
/** Events that one statement scans at most for a type or a subject, among those on no list yet. */
const LOOKED_THROUGH_AT_ONCE = 5_000
/** Positions on lists of which the reader filters out some, looked up at once at least. */
const FILTERED_AT_ONCE = 500
/** How long after an event it is put on its lists, in milliseconds: meanwhile more may come. */
const LISTED_AFTER = 1_000
/** The pause between two slices of events to list, in milliseconds: requests go first. */
const LISTING_PAUSE = 10
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
  #listing: Promise<void> | undefined
  /** Whether the last listing failed. */
  #cannotList = false
  readonly #closing = new AbortController()

  constructor(storage: Storage, log: FastifyBaseLogger) {
    this.#storage = storage
    this.#log = log
    this.#stopListening = storage.onOutbox(() => this.wake())
    if (storage.isShared) this.#timer = setInterval(() => this.wake(), LOOK_INTERVAL).unref()
  }

  async read(query: EventQuery): Promise<Event[]> {
    const { after, limit, types, owner, subject } = query
    if (types?.length === 0) return []
    const wanted = [
      ...(types === undefined ? [] : [sql`type IN (${join(types.map((type) => sql`${type}`))})`]),
      ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
      ...(subject === undefined ? [] : [sql`subject = ${subject}`]),
    ]
    const lists = await findLists(this.#storage, query)
    // The events of an owner have an index.
    if (lists === undefined && (subject === undefined || owner !== undefined)) {
      return this.#select([sql`position > ${after}`, ...wanted], limit)
    }
    const { first, last } = await this.#storage.one<{ first: number; last: number }>(sql`
      SELECT (SELECT coalesce(min(position), 1) FROM mortise_event) AS first,
             (SELECT coalesce(max(position), 0) FROM mortise_event) AS last`)
    const found: Event[] = []
    let from = Math.max(after, first - 1)
    while (lists !== undefined && from < lists.upTo && found.length < limit) {
      const filters = owner !== undefined && lists.owner === ''
      const most = Math.max(Math.min(limit - found.length, BATCH), filters ? FILTERED_AT_ONCE : 1)
      const listed = await findListed(this.#storage, lists, from, most)
      from = listed.length < most ? lists.upTo : (listed.at(-1)?.position ?? lists.upTo)
      if (listed.length === 0) break
      const these = sql`position IN (${positionsOf(listed)})`
      found.push(...(await this.#select([these, ...wanted], limit - found.length)))
    }
    // Reads in pieces, because one read would block the host, or a connection, for its whole
    // duration.
    while (from < last && found.length < limit) {
      const to = from + LOOKED_THROUGH_AT_ONCE
      const piece = sql`position > ${from} AND position <= ${to}`
      found.push(...(await this.#select([piece, ...wanted], limit - found.length)))
      from = to
      await nextTurn()
    }
    return found
  }

  async #select(conditions: readonly Sql[], limit: number): Promise<Event[]> {
    const rows = await this.#storage.many<Row>(sql`
      SELECT position, ${columns} FROM mortise_event
      WHERE ${join(conditions, ' AND ')} ORDER BY position LIMIT ${limit}`)
    return rows.map(toEvent)
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
    this.#closing.abort()
    await this.#listing
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
        this.#listing ??= this.#list()
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

  /** Puts new events on their lists, behind the requests. */
  async #list(): Promise<void> {
    const { signal } = this.#closing
    try {
      await pause(LISTED_AFTER, undefined, { signal, ref: false })
      if ((await this.#storage.maybeOne(unlisted)) === undefined) return
      while (await this.#storage.transaction(extendLists)) {
        await pause(LISTING_PAUSE, undefined, { signal, ref: false })
      }
      this.#cannotList = false
    } catch (error) {
      if (signal.aborted) return
      // The next event tries again.
      const level = this.#cannotList || isLoggedElsewhere(error) ? 'debug' : 'warn'
      this.#cannotList = true
      this.#log[level](error, 'cannot put new events on their lists; readers search them')
    } finally {
      this.#listing = undefined
    }
  }
}

/**
 * Deletes the oldest events from before a time, at most `limit`. Keeps the newest one, and those
 * that hold the body of a response for an Idempotency-Key.
 * @returns whether there may be more
 */
export function* deleteOldest(before: number, limit: number): Transaction<boolean> {
  // Skips old events that must stay, so that they do not block others.
  const old = yield* many<Pick<Event, 'position' | 'type'>>(sql`
    SELECT position, type FROM mortise_event WHERE at < ${before}
      AND position IN (
        SELECT position FROM mortise_event AS candidate
        WHERE at >= ${before}
          OR NOT EXISTS (SELECT 1 FROM mortise_idempotency AS kept WHERE kept.event = candidate.id)
        ORDER BY position LIMIT ${limit})
      AND position < (SELECT max(position) FROM mortise_event)`)
  if (old.length === 0) return false
  yield* unlist(old)
  yield* run(sql`DELETE FROM mortise_event WHERE position IN (${positionsOf(old)})`)
  return old.length === limit
}
