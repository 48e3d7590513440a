import { cursorQuery, Id, Nullable, noControls, pageQuery, Strict, Timestamp } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'
import { type State as StateName, states } from './deliveries.ts'

const url = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: '^https?://[^\\s#]+$',
  description: 'https; a public address, without user and fragment',
  examples: ['https://shop.example/hooks/mortise'],
})
const types = Type.Array(
  Type.String({ maxLength: 128, pattern: '^(\\*|[a-z][a-z0-9-]*(\\.[a-z][a-z0-9-]*)+)$' }),
  {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description: 'the types of the events that it gets, of those that installed modules emit; `*`: all',
    examples: [['purchase.created']],
  },
)
const everyone = Type.Boolean({
  description: "whether it gets everyone's events, and not its owner's alone: with event:read",
})
const description = Type.String({
  maxLength: 200,
  pattern: noControls,
  description: 'a string of at most 200 characters, no control characters',
})
const enabled = Type.Boolean()

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
        "`gone`: the receiver has answered 410; `failing`: 5 days without a success; `unproven`: nobody has shown `event:read` for everyone's events until `provenUntil`; null: none of these",
    }),
  ),
  failingSince: Nullable(
    Type.String({ format: 'date-time', description: 'since when no attempt has succeeded' }),
  ),
  provenUntil: Nullable(
    Type.String({
      format: 'date-time',
      description:
        "when it stops, unless its owner changes or uses it before with event:read; null for one of its owner's events alone",
    }),
  ),
  behindSince: Nullable(
    Type.String({
      format: 'date-time',
      description:
        'since when it has as many pending deliveries as allowed: it gets later events when there is room, from where it stopped',
    }),
  ),
  missedUntil: Nullable(
    Type.String({
      format: 'date-time',
      description: 'while it was behind, events before this time were deleted; null: it has missed none',
    }),
  ),
  version: Type.Integer({ description: 'rises with every change' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  owner: Type.Optional(Type.String({ description: 'who made it: for admin' })),
}

export const Webhook = Type.Object(webhook, { title: 'Webhook' })
export type Webhook = Static<typeof Webhook>

const secret = Type.String({
  description: 'what receivers verify signatures with, shown this once',
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
    Type.String({ minLength: 1, description: "a caller's id, or * for everyone's: with admin" }),
  ),
})
export type WebhookQuery = Static<typeof WebhookQuery>

export const RotatedSecret = Type.Object(
  {
    secret,
    formerUntil: Type.String({
      format: 'date-time',
      description: 'until when deliveries bear the signature of the former one too',
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
    attempts: Type.Integer({ description: 'how many there were; a replay counts anew' }),
    nextAttemptAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'null while it is sent, waits for an earlier one of its subject, or has ended',
      }),
    ),
    lastAttemptAt: Nullable(Timestamp),
    status: Nullable(Type.Integer({ description: 'of the last answer' })),
    error: Nullable(Type.String({ description: 'why there was none' })),
    response: Nullable(
      Type.String({
        description:
          'the first 4 KiB of the last answer, 256 characters where it was a success; what is not printable is replaced',
      }),
    ),
    createdAt: Timestamp,
    endedAt: Nullable(Timestamp),
  },
  { title: 'Delivery' },
)
export type Delivery = Static<typeof Delivery>

export const DeliveryQuery = Strict({
  state: Type.Optional({ ...State, description: 'those in this state alone' } as typeof State),
  before: Type.Optional(Type.String({ description: 'the id of a delivery: those of earlier events' })),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'deliveries at most' }),
})
export type DeliveryQuery = Static<typeof DeliveryQuery>

export const DeliveryList = Type.Object(
  {
    data: Type.Array(Delivery),
    next: Nullable(Type.String({ description: 'the path of the next page; null where there is none' })),
  },
  { title: 'DeliveryList' },
)
export const DeliveryParams = Type.Object({
  id: Type.String({ description: 'the id of the webhook' }),
  delivery: Type.String({ description: 'the id of the delivery, which is that of its event' }),
})
