import { cursorQuery, Id, Nullable, noControls, pageQuery, Strict, Timestamp } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'
import { type State as StateName, states } from './deliveries.ts'

const url = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: '^https?://[^\\s#]+$',
  description: 'an https URL with a public address, without user and fragment',
  examples: ['https://shop.example/hooks/mortise'],
})
const types = Type.Array(
  Type.String({ maxLength: 128, pattern: '^(\\*|[a-z][a-z0-9-]*(\\.[a-z][a-z0-9-]*)+)$' }),
  {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description: 'the event types that it gets, from the installed modules; `*`: all',
    examples: [['purchase.created']],
  },
)
const everyone = Type.Boolean({
  description: "whether it gets the events of all callers, not only its owner's: with event:read",
})
const description = Type.String({
  maxLength: 200,
  pattern: noControls,
  description: 'a string of at most 200 characters, no control characters',
})
const enabled = Type.Boolean()

const timeOrNull = (description: string) => Nullable(Type.String({ format: 'date-time', description }))

const webhook = {
  id: Id('webhook'),
  url: Type.String(),
  types: Type.Array(Type.String()),
  everyone,
  description: Type.String(),
  enabled,
  disabledReason: Nullable(
    Type.String({
      description:
        '`gone`: the receiver returned 410; `failing`: 5 days without a success; `unproven`: the owner did not use `event:read` before `provenUntil`, or the host no longer trusts what verified the token; null: none of these',
    }),
  ),
  failingSince: timeOrNull('the time since which all attempts have failed'),
  provenUntil: timeOrNull(
    "when it stops, unless its owner changes or uses it with event:read before; null if it gets only its owner's events",
  ),
  behindSince: timeOrNull(
    'the time since which it has the maximum of pending deliveries: it gets later events once some have ended',
  ),
  missedUntil: timeOrNull(
    'events before this time were deleted while it was behind; null: it has missed none',
  ),
  version: Type.Integer({ description: 'increases with every change' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  owner: Type.Optional(Type.String({ description: 'the id of the caller who created it: for admin' })),
}

export const Webhook = Type.Object(webhook, { title: 'Webhook' })
export type Webhook = Static<typeof Webhook>

const secret = Type.String({
  description: 'verifies signatures; shown only in this response',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw5JqMOyVmhNs='],
})

export const CreatedWebhook = Type.Object({ ...webhook, secret }, { title: 'CreatedWebhook' })
export type CreatedWebhook = Static<typeof CreatedWebhook>

export const NewWebhook = Strict(
  {
    url,
    types: Type.Optional({ ...types, default: ['*'] } as typeof types),
    everyone: Type.Optional({ ...everyone, default: false } as typeof everyone),
    description: Type.Optional({ ...description, default: '' } as typeof description),
  },
  { title: 'NewWebhook' },
)
export type NewWebhook = Static<typeof NewWebhook>

export const WebhookChange = Strict(
  {
    url: Type.Optional(url),
    types: Type.Optional(types),
    everyone: Type.Optional(everyone),
    description: Type.Optional(description),
    enabled: Type.Optional(enabled),
  },
  { title: 'WebhookChange', minProperties: 1 },
)
export type WebhookChange = Static<typeof WebhookChange>

export const WebhookQuery = Strict({
  ...pageQuery,
  ...cursorQuery,
  owner: Type.Optional(
    Type.String({ minLength: 1, description: 'the id of a caller, or * for all callers: with admin' }),
  ),
})
export type WebhookQuery = Static<typeof WebhookQuery>

export const RotatedSecret = Type.Object(
  {
    secret,
    previousUntil: Type.String({
      format: 'date-time',
      description: 'until when deliveries also have a signature with the previous secret',
    }),
  },
  { title: 'RotatedSecret' },
)
export type RotatedSecret = Static<typeof RotatedSecret>

const State = Type.Unsafe<StateName>({ type: 'string', enum: [...states] })

export const Delivery = Type.Object(
  {
    id: Id('event'),
    type: Type.String(),
    subject: Type.String(),
    state: State,
    attempts: Type.Integer({ description: 'the number of attempts; a replay resets it' }),
    nextAttemptAt: timeOrNull(
      'null while it is sent, waits for an earlier delivery of its subject, or has ended',
    ),
    lastAttemptAt: Nullable(Timestamp),
    status: Nullable(Type.Integer({ description: 'the status of the last response' })),
    error: Nullable(Type.String({ description: 'why the last attempt had no response' })),
    response: Nullable(
      Type.String({
        description:
          'the first 4 KiB of the last response, 256 characters after a success; unprintable characters are replaced',
      }),
    ),
    createdAt: Timestamp,
    endedAt: Nullable(Timestamp),
  },
  { title: 'Delivery' },
)
export type Delivery = Static<typeof Delivery>

export const DeliveryQuery = Strict({
  state: Type.Optional({ ...State, description: 'only deliveries in this state' } as typeof State),
  before: Type.Optional(
    Type.String({ description: 'the id of a delivery: returns deliveries of earlier events' }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'deliveries at most' }),
})
export type DeliveryQuery = Static<typeof DeliveryQuery>

export const DeliveryList = Type.Object(
  {
    data: Type.Array(Delivery),
    next: Nullable(Type.String({ description: 'the path of the next page; null on the last page' })),
  },
  { title: 'DeliveryList' },
)
export type DeliveryList = Static<typeof DeliveryList>

export const DeliveryParams = Type.Object({
  id: Type.String({ description: 'the id of the webhook' }),
  delivery: Type.String({ description: 'the id of the delivery: the id of its event' }),
})
