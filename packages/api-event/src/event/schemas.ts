import { EventStream, Id, Strict, Timestamp } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

const oneType = '[a-z][a-z0-9-]*(\\.[a-z][a-z0-9-]*)+'

export const EventQuery = Strict({
  types: Type.Optional(
    Type.String({
      pattern: `^${oneType}(,${oneType})*$`,
      maxLength: 2048,
      description: 'one or more event types, comma-separated',
      examples: ['purchase.created,purchase.status-changed'],
    }),
  ),
  subject: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'the id of the resource that changed' }),
  ),
  owner: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'the id of the caller who owns the events, or * for all callers: with event:read',
    }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'the id of the last event that you have, or `start`. Without it a list begins with the oldest event, and a stream with the next new event',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'events at most, in a list' }),
})
export type EventQuery = Static<typeof EventQuery>

/** The events that a caller wants. `selectionOf` limits them to what the caller may see. */
export type EventFilter = Pick<EventQuery, 'types' | 'subject' | 'owner'>

/** CloudEvents 1.0, JSON format. */
const CloudEvent = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Id('event'),
    type: Type.String({ examples: ['purchase.created'] }),
    source: Type.String({ description: 'the module that emitted it', examples: ['/api-purchase'] }),
    subject: Type.String({ description: 'the id of the resource that changed' }),
    time: Timestamp,
    datacontenttype: Type.Literal('application/json'),
    data: Type.Unknown({ description: 'in the schema of this event type' }),
    owner: Type.Optional(Type.String({ description: 'the id of the caller who owns it' })),
    traceparent: Type.Optional(Type.String({ description: 'the trace of the change (W3C Trace Context)' })),
  },
  { title: 'CloudEvent', description: 'an event: CloudEvents 1.0, JSON format' },
)

export const EventPage = Type.Object(
  {
    data: Type.Array(CloudEvent),
    next: Type.String({
      description: 'the path of the next page; it also works later, for new events',
      examples: ['/event?after=event_01kahr3v8ze5x9g2w0m4c7t6ys&limit=50'],
    }),
    more: Type.Boolean({
      description:
        'whether there may be more events already: with `types` or `subject` a page may be short, or empty, before the last one',
    }),
  },
  { title: 'EventPage' },
)
export type EventPage = Static<typeof EventPage>

export const EventHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'like `after`, for a stream; it overrides `after`' }),
  ),
})

/** Fastify serializes JSON with the schema, and sends a stream as it is. */
export const EventResponse = Type.Unsafe<EventPage>({
  description: 'a page of events; with `Accept: text/event-stream` a stream of events',
  content: {
    'application/json': { schema: EventPage },
    'text/event-stream': {
      schema: EventStream,
    },
  },
})
