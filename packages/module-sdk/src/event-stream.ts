import { Type } from '@sinclair/typebox'
import { defineProblems } from './problem.ts'

/** Which events `reply.streamEvents` sends, and where it begins. */
export interface StreamedEvents {
  /** Only these types. The default is every type. */
  readonly types?: readonly string[] | undefined
  readonly subject?: string | undefined
  /**
   * The id of another owner, or `*` for all owners: the caller needs the scope `event:read`. The
   * default is the caller.
   */
  readonly owner?: string | undefined
  /**
   * The id of the event to begin after, or `start` for the oldest event. A `Last-Event-ID` overrides
   * it. Without either, the stream begins with the next new event.
   */
  readonly after?: string | undefined
  readonly limits?: Partial<StreamLimits>
}

/** Limits for a new stream. They count all responses that stay open, of all modules in this process. */
export interface StreamLimits {
  /** Of one caller. The default is 10. */
  readonly streamsPerCaller: number
  /** Of one address (IPv6: /64). The default is 20. Streams of guests do not count against users. */
  readonly streamsPerAddress: number
  /** In all. The default is 1,500; guests may have four fifths of them. */
  readonly streams: number
  /** Seconds between heartbeats. The default is 15. Each one checks the caller's credentials. */
  readonly heartbeatSeconds: number
}

const tooMany = <Status extends 429 | 503>(status: Status, whose = '') => ({
  status,
  title: `Too many open streams${whose}`,
})

/** The problems of `reply.streamEvents`. Their type names the module of the route. */
export const streamProblems = {
  'credentials-needed': { status: 401, title: 'A stream needs credentials' },
  'event-gone': { status: 410, title: 'The event does not exist any more' },
  'too-many-streams': tooMany(429, ' of the caller'),
  'too-many-streams-per-address': tooMany(429, ' of the address'),
  'streams-exhausted': tooMany(503),
  'guest-streams-exhausted': tooMany(503, ' of guests'),
} as const

/** The codes of the problems that a request for a stream gets. */
export type StreamProblem = keyof typeof streamProblems

/** The content of a stream. A type of its own, so that generated clients do not confuse it with JSON. */
export const EventStream = Type.String({
  title: 'EventStream',
  contentMediaType: 'text/event-stream',
  description:
    'Server-Sent Events without end: `id` is the id of the event, `event` its type, `data` a CloudEvent as JSON on one line. A block with only an `id` is a newer position to reconnect from; a line that begins with a colon is a heartbeat.',
})

/**
 * The part of a route's schema that `reply.streamEvents` needs: its headers and responses, for
 * `schema: { summary: …, ...eventStream }`.
 */
export const eventStream = {
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        description: 'the id of the last event that you have; `EventSource` sends it by itself',
      }),
    ),
  }),
  response: {
    200: Type.Unsafe<never>({
      description: "a stream of the caller's events",
      content: { 'text/event-stream': { schema: EventStream } },
    }),
    ...defineProblems('', streamProblems).responses(...(Object.keys(streamProblems) as StreamProblem[])),
  },
}
