import { timestamp } from './forms.ts'
import type { Transaction } from './transaction.ts'

/** A committed change, as event handlers and readers of the event log get it. */
export interface Event<Data = unknown> {
  /** A TypeID. It stays the same for every delivery of the event. */
  readonly id: string
  /** `purchase.created`. */
  readonly type: string
  /** The module that emitted the event. */
  readonly source: string
  /**
   * The id of the thing that changed. Readers get the events of one subject in the order in which
   * they happened.
   */
  readonly subject: string
  /** The caller id that may see the event. Null: only `admin` may. */
  readonly owner: string | null
  /** Epoch milliseconds. */
  readonly at: number
  readonly data: Data
  /** The trace of the request (W3C Trace Context), if there was a request. */
  readonly traceparent: string | null
  /** The position in the application's event log. It starts at 1 and increases with each event. */
  readonly position: number
}

/** An event handler. Its statements and the handler's cursor are one transaction. */
export type React<Data = unknown> = (event: Event<Data>) => Transaction<void>

/** Which events to read. */
export interface EventQuery {
  /** Return only events after this position. */
  readonly after: number
  /** The largest number of events to return. */
  readonly limit: number
  /** Return only these types. */
  readonly types?: readonly string[] | undefined
  /** Return only events that this caller may see. */
  readonly owner?: string | undefined
  readonly subject?: string | undefined
}

/** Events that one read has found, in their order. */
export interface FoundEvents {
  /** In order of position. */
  readonly events: Event[]
  /**
   * Where to read on: the next query is `after` its position. Undefined if there were no more. It
   * may be an event that the query does not ask for.
   */
  readonly next: Pick<Event, 'id' | 'position'> | undefined
}

/** The events of the application, in one sequence. Events stay for `events.retentionDays`. */
export interface EventLog {
  /**
   * Returns events in order of position. The log never adds an event before one that it has
   * returned. For `types` or a `subject` it looks at 1,000 events of the owner, or of all, at most:
   * it may then return fewer than `limit`, or none, while there are more.
   */
  read(query: EventQuery): Promise<FoundEvents>
  /** The position of the newest event, or 0 if there is none. */
  last(): Promise<number>
  /** The newest event, or the newest that `owner` may see. Undefined if there is none. */
  newest(owner?: string): Promise<Event | undefined>
  /**
   * The position of an event. Undefined if no event has this id, or if retention deleted it. With
   * `owner` it finds only that caller's events and those of guests that the caller claimed. So a
   * guest's cursor still works for the user, although the events stay the guest's.
   */
  find(id: string, owner?: string): Promise<number | undefined>
  /**
   * Calls `listener` when there may be more to read, from any host, until the module closes.
   * @returns a function that stops the calls
   */
  onMore(listener: () => void): () => void
}

/** An event in the form for clients and webhooks: CloudEvents 1.0, JSON format. */
export interface CloudEvent {
  specversion: '1.0'
  id: string
  type: string
  source: string
  subject: string
  time: string
  datacontenttype: 'application/json'
  data: unknown
  /** An extension attribute: the owner of the event. */
  owner?: string
  /** The Distributed Tracing extension of CloudEvents. */
  traceparent?: string
}

/** The event as a CloudEvent: `source` is the path of the module, `time` is RFC 3339. */
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
