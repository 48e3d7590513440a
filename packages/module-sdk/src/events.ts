import type { Static, TSchema } from '@sinclair/typebox'
import { newId } from './id.ts'
import { timestamp } from './time.ts'
import type { Transaction } from './transaction.ts'

/**
 * The types of events that modules know of each other: type to data. The package that emits another one adds it by
 * declaration merging, as with Contracts; a type that is not here has data of an unknown type.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface EventTypes {}

/** The data of an event of this type. */
export type EventData<Type extends string> = Type extends keyof EventTypes ? EventTypes[Type] : unknown

/** Something that has happened. */
export interface Event<Data = unknown> {
  /** A TypeID: the same wherever and however often the event is told. */
  readonly id: string
  /** `purchase.created`. */
  readonly type: string
  /** The module that has emitted it. */
  readonly source: string
  /** What it happened to: an id. The events of one subject are told in the order in which they happened. */
  readonly subject: string
  /** Who may see it: a caller's id; null where only `admin` may. */
  readonly owner: string | null
  /** Epoch milliseconds. */
  readonly at: number
  readonly data: Data
  /** The trace of the request that it happened in (W3C Trace Context), where there was one. */
  readonly traceparent: string | null
  /** Where it stands in the one sequence of all events of the application: from 1, each one higher than the one before. */
  readonly position: number
}

/** What a module says of an event; the rest is the host's. */
export interface NewEvent<Data> {
  /** What it happened to: an id. */
  readonly subject: string
  /** The caller's id to whom it belongs and who may see it; left out: only `admin` may. */
  readonly owner?: string | null
  readonly data: Data
}

/** What the data of each type look like. */
export type EventSchemas = Readonly<Record<string, TSchema>>

/** What other modules know of a type holds for its schema. */
export type KnownEvents<Types extends EventSchemas> = {
  readonly [Type in keyof Types]: Type extends keyof EventTypes
    ? EventTypes[Type] extends Static<Types[Type]>
      ? Types[Type]
      : never
    : Types[Type]
}

/**
 * A step of a transaction: the event is there exactly if the transaction is committed.
 * @throws {TypeError} where `data` is not what the schema of the type says, or over 256 KiB of JSON
 */
export type Emit<Types extends EventSchemas> = <Type extends keyof Types & string>(
  type: Type,
  event: NewEvent<Static<Types[Type]>>,
) => Transaction<void>

/** Answers what emits the events of the module `source`. */
export function defineEvents<Types extends EventSchemas>(source: string, types: Types): Emit<Types> {
  return function* (type, { subject, owner = null, data }) {
    const schema = types[type]
    if (schema === undefined) throw new TypeError(`"${type}" is no event of ${source}`)
    yield { event: { id: newId('event'), type, source, subject, owner, data, schema } }
  }
}

/** Does something about an event, in one transaction with the mark that it is done. */
export type React<Data = unknown> = (event: Event<Data>) => Transaction<void>

export interface EventQuery {
  /** Only what comes after this position. */
  readonly after: number
  /** At most this many. */
  readonly limit: number
  /** Only these types. */
  readonly types?: readonly string[] | undefined
  /** Only what this caller may see. */
  readonly owner?: string | undefined
  readonly subject?: string | undefined
}

/** The sequence of all events of the application: it is there for as long as `events.retentionDays` says. */
export interface EventLog {
  /** In the order of their positions. An event that is shown is preceded by all that ever will be before it. */
  read(query: EventQuery): Promise<Event[]>
  /** The position of the newest event; 0 before there is one. */
  last(): Promise<number>
  /** The newest event, of those that this caller may see where one is named; undefined where there is none. */
  newest(owner?: string): Promise<Event | undefined>
  /**
   * The position of an event; undefined where there is none with this id, or none any more. With `owner` only that
   * caller's events are found, and those of guests whom the caller has claimed: the cursor of a guest goes on working
   * for the user, though the events stay the guest's.
   */
  find(id: string, owner?: string): Promise<number | undefined>
  /**
   * Calls `listener` whenever there may be more to read, whichever host it was emitted on, until the module is closed.
   * @returns what ends it
   */
  onMore(listener: () => void): () => void
}

/** An event as it is told to the outside: CloudEvents 1.0, JSON format. */
export interface CloudEvent {
  specversion: '1.0'
  id: string
  type: string
  source: string
  subject: string
  time: string
  datacontenttype: 'application/json'
  data: unknown
  /** An extension: whose it is. */
  owner?: string
  /** The Distributed Tracing extension. */
  traceparent?: string
}

export function toCloudEvent(event: Event): CloudEvent {
  const { id, type, source, subject, at, data, owner, traceparent } = event
  return {
    specversion: '1.0',
    id,
    type,
    source: `/${source}`,
    subject,
    time: timestamp(at),
    datacontenttype: 'application/json',
    data,
    ...(owner !== null && { owner }),
    ...(traceparent !== null && { traceparent }),
  }
}
