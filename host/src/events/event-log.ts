import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Event,
  type EventQuery,
  type EventLog as EventReader,
  join,
  type Sql,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { deleteOldest } from './event-tables.ts'

/** How often a host on PostgreSQL polls without a notification, in milliseconds. */
const LOOK_INTERVAL = 1_000
/** Events that one statement scans at most for a type or a subject, because these have no index. */
const LOOKED_THROUGH_AT_ONCE = 5_000
/** Events that one run of `forgetOld` deletes at most, to keep transactions short. */
const FORGOTTEN_AT_ONCE = 1_000

type Row = Omit<Event, 'data'> & { data: string }

const columns = sql`position, id, type, source, subject, owner, at, data, traceparent`
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
    // On SQLite nobody else writes.
    if (storage.engine === 'postgres') this.#timer = setInterval(() => this.wake(), LOOK_INTERVAL).unref()
  }

  async read({ after, limit, types, owner, subject }: EventQuery): Promise<Event[]> {
    if (types?.length === 0) return []
    const wanted = [
      ...(types === undefined ? [] : [sql`type IN (${join(types.map((type) => sql`${type}`))})`]),
      ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
      ...(subject === undefined ? [] : [sql`subject = ${subject}`]),
    ]
    if (owner !== undefined || wanted.length === 0) {
      return this.#select([sql`position > ${after}`, ...wanted], limit)
    }
    // Reads in pieces, because one read would block the host, or a connection, for its whole
    // duration.
    const { first, last } = await this.#storage.one<{ first: number; last: number }>(sql`
      SELECT (SELECT coalesce(min(position), 1) FROM mortise_event) AS first,
             (SELECT coalesce(max(position), 0) FROM mortise_event) AS last`)
    const found: Event[] = []
    for (let from = Math.max(after, first - 1); from < last && found.length < limit; ) {
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
      SELECT ${columns} FROM mortise_event
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
      SELECT ${columns} FROM mortise_event ${among} ORDER BY position DESC LIMIT 1`)
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

  async #look(): Promise<void> {
    try {
      while (this.#lookAgain) {
        this.#lookAgain = false
        await this.#storage.sequenceOutbox()
        if (this.#listeners.size === 0) continue
        const last = await this.last()
        if (last === this.#announced) continue
        this.#announced = last
        for (const listener of this.#listeners) listener()
      }
    } catch (error) {
      // The next look comes within a second, or with the next event.
      this.#log.debug(error, 'new events could not be looked for')
    } finally {
      // Runs in the same turn as the last look at `#lookAgain`; otherwise a `wake` in between would
      // be lost.
      this.#looking = undefined
    }
  }
}
