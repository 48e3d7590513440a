import { Id, Strict, Timestamp } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

const oneType = '[a-z][a-z0-9-]*(\\.[a-z][a-z0-9-]*)+'

/** The events that a caller wants. `selectionOf` limits them to what the caller may see. */
const filter = {
  types: Type.Optional(
    Type.String({
      pattern: `^${oneType}(,${oneType})*$`,
      maxLength: 2048,
      description: 'one or several types of events, comma-separated',
      examples: ['purchase.created,purchase.status-changed'],
    }),
  ),
  subject: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'the id of what they happened to' }),
  ),
  owner: Type.Optional(
    Type.String({
      minLength: 1,
      description: "the id of the caller whose they are, or * for everyone's: with event:read",
    }),
  ),
}
export interface EventFilter {
  types?: string
  subject?: string
  owner?: string
}

export const EventQuery = Strict({
  ...filter,
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'the id of the event to go on after, or `start`. Without it a list begins with the oldest event there is, a stream with what happens from now on',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'events at most; of a list' }),
})
export type EventQuery = Static<typeof EventQuery>

/** CloudEvents 1.0, JSON format. */
const CloudEvent = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Id('event'),
    type: Type.String({ examples: ['purchase.created'] }),
    source: Type.String({ description: 'the module that has emitted it', examples: ['/api-purchase'] }),
    subject: Type.String({ description: 'the id of what it happened to' }),
    time: Timestamp,
    datacontenttype: Type.Literal('application/json'),
    data: Type.Unknown({ description: 'as the module describes it for this type' }),
    owner: Type.Optional(Type.String({ description: 'the id of the caller whose it is' })),
    traceparent: Type.Optional(
      Type.String({ description: 'the trace that it happened in (W3C Trace Context)' }),
    ),
  },
  { title: 'CloudEvent', description: 'something that has happened: CloudEvents 1.0, JSON format' },
)

export const EventPage = Type.Object(
  {
    data: Type.Array(CloudEvent),
    next: Type.String({
      description: 'the path of what comes after these, whenever there is something',
      examples: ['/event?after=event_01kahr3v8ze5x9g2w0m4c7t6ys&limit=50'],
    }),
    more: Type.Boolean({ description: 'whether there is something already' }),
  },
  { title: 'EventPage' },
)
export type EventPage = Static<typeof EventPage>

export const EventHeaders = Type.Object({
  'last-event-id': Type.Optional(Type.String({ description: 'as `after`, of a stream; it wins' })),
})

/**
 * A separate type, so that generated clients tell the stream from the page. OpenAPI before 3.2
 * cannot describe the parts of a stream.
 */
const EventStreamText = Type.String({
  title: 'EventStream',
  contentMediaType: 'text/event-stream',
  description:
    'Server-Sent Events that go on: `id` is the id of the event, `event` its type, `data` a CloudEvent as JSON on one line. A block with an `id` alone says where to go on from; a line that begins with a colon is a sign of life.',
})

/** Fastify serializes JSON with the schema, and sends a stream as it is. */
export const EventResponse = Type.Unsafe<EventPage>({
  description: 'a page of events; with `Accept: text/event-stream` a stream of them, which goes on',
  content: {
    'application/json': { schema: EventPage },
    'text/event-stream': {
      schema: EventStreamText,
    },
  },
})
