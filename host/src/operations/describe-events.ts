import { Type } from '@sinclair/typebox'
import type { EventType } from '../events/event-types.ts'
import type { EventOperation, JsonSchema, OpenapiDocument } from './openapi-document.ts'

/** Adds what is told of each type of event, as OpenAPI 3.1 has it: a request that a receiver gets. */
export function describeEvents(document: OpenapiDocument, types: Iterable<EventType>): void {
  const webhooks: [string, { post: EventOperation }][] = []
  for (const { type, source, schema } of types) {
    const content = { 'application/cloudevents+json': { schema: envelope(type, source, schema) } }
    const post: EventOperation = {
      operationId: `on${nameOf(type)}`,
      tags: [source],
      summary: `The event ${type}`,
      requestBody: { content },
      responses: { '2XX': { description: 'taken in: whatever else is answered, it is told again' } },
    }
    webhooks.push([type, { post }])
  }
  if (webhooks.length > 0) document.webhooks = Object.fromEntries(webhooks)
}

/** CloudEvents 1.0. */
function envelope(type: string, source: string, data: unknown): JsonSchema {
  const schema = Type.Object(
    {
      specversion: Type.Literal('1.0'),
      id: Type.String({ description: 'the same whenever this event is told' }),
      type: Type.Literal(type),
      source: Type.Literal(`/${source}`),
      subject: Type.String({ description: 'what it happened to; its events come in order' }),
      time: Type.String({ format: 'date-time' }),
      datacontenttype: Type.Literal('application/json'),
      data: Type.Unsafe(data as JsonSchema),
      traceparent: Type.Optional(Type.String({ description: 'W3C Trace Context' })),
    },
    { title: `${nameOf(type)}Event` },
  )
  return JSON.parse(JSON.stringify(schema))
}

/** `cart.item-added` is `CartItemAdded`. */
const nameOf = (type: string) =>
  type.replace(/(^|[.-])(\w)/g, (_all, _before, letter) => letter.toUpperCase())
