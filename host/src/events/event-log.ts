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

/** How often a host on PostgreSQL looks by itself, should nobody have told it, in milliseconds. */
const LOOK_INTERVAL = 1_000
/** How many events one statement looks through at most for those of a type or a subject, for which there is no index. */
const LOOKED_THROUGH_AT_ONCE = 5_000
/** How many events one run of `forgetOld` deletes at most, so that no transaction is a long one. */
const FORGOTTEN_AT_ONCE = 1_000

type Row = Omit<Event, 'data'> & { data: string }

const columns = sql`position, id, type, source, subject, owner, at, data, traceparent`
const toEvent = (row: Row): Event => ({ ...row, data: JSON.parse(row.data) })

/**
 * The sequence of all events, as one process sees it: it outlives generations. What was emitted has its position soon
 * after its commit, by whichever host comes first; listeners are woken then, on every host.
 */
export class EventLog implements EventReader {
  readonly #storage: Storage
  readonly #log: FastifyBaseLogger
  readonly #listeners = new Set<() => void>()
  readonly #stopListening: () => Promise<void>
  readonly #timer: NodeJS.Timeout | undefined
  /** The newest position that listeners know of. */
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
    // In pieces: the host, or a connection, would have nothing else to do for as long as all of it takes.
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

  /** Deletes the oldest events that happened before a time; answers whether there may be more of them. */
  forgetOld(before: number): Transaction<boolean> {
    return deleteOldest(before, FORGOTTEN_AT_ONCE)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#stopListening()
    this.#lookAgain = false
    await this.#looking
  }

  /** To be called once the host's tables are there: from then on it wakes by itself. */
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
      // It is looked again within a second, or at the next event.
      this.#log.debug(error, 'new events could not be looked for')
    } finally {
      // In the same turn as the last look at `#lookAgain`: a call of `wake` in between would be lost.
      this.#looking = undefined
    }
  }
}
