import { Type } from '@sinclair/typebox'
import type { EventType } from '../modules/event-types.ts'
import type { JsonSchema, OpenapiDocument } from './openapi-document.ts'

/** Adds the webhook of each event type, as in OpenAPI 3.1: the request that a receiver gets. */
export function describeEvents(document: OpenapiDocument, types: Iterable<EventType>): void {
  const webhooks = Array.from(types, ({ type, source, schema }) => {
    const content = { 'application/cloudevents+json': { schema: envelope(type, source, schema) } }
    const post = {
      operationId: `on${nameOf(type)}`,
      tags: [source],
      summary: `The event ${type}`,
      security: [{ webhookSignature: [] }],
      parameters: deliveryHeaders,
      requestBody: { required: true, content },
      responses: { '2XX': { description: 'accepted; after any other response the event is sent again' } },
    }
    return [type, { post }] as const
  })
  if (webhooks.length === 0) return
  document.webhooks = Object.fromEntries(webhooks)
  document.components.securitySchemes.webhookSignature = webhookSignature
}

const webhookSignature = {
  type: 'apiKey',
  in: 'header',
  name: 'webhook-signature',
  description:
    'The signature of a webhook delivery: `v1,` and the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` with the secret of the webhook, in base64; spaces separate several signatures, and one must match (standardwebhooks.com).',
}

/** The headers of standardwebhooks besides the signature. */
const deliveryHeaders = [
  {
    in: 'header',
    name: 'webhook-id',
    required: true,
    description: 'the id of the event: the same in every attempt',
    schema: { type: 'string' },
  },
  {
    in: 'header',
    name: 'webhook-timestamp',
    required: true,
    description:
      'when this attempt was signed, in seconds since 1970: refuse old ones, for example after 5 minutes',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
]

/** CloudEvents 1.0. */
function envelope(type: string, source: string, data: unknown): JsonSchema {
  const schema = Type.Object(
    {
      specversion: Type.Literal('1.0'),
      id: Type.String({ description: 'the same in every attempt' }),
      type: Type.Literal(type),
      source: Type.Literal(`/${source}`),
      subject: Type.String({ description: 'the resource that changed; its events come in order' }),
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
