import {
  answer,
  type Caller,
  CursorPageOf,
  type Database,
  Deleted,
  type databaseTime,
  IdParams,
  type ModuleInstance,
} from '@mortise/module-sdk'
import { responses } from '../module.ts'
import {
  CreatedWebhook,
  Delivery,
  DeliveryList,
  DeliveryParams,
  DeliveryQuery,
  NewWebhook,
  RotatedSecret,
  Webhook,
  WebhookChange,
  WebhookQuery,
} from './schemas.ts'
import {
  changeWebhook,
  createWebhook,
  listDeliveries,
  listWebhooks,
  removeWebhook,
  replayDelivery,
  rotateSecret,
  showDelivery,
  showWebhook,
  testWebhook,
  type WebhookRules,
} from './service.ts'

export interface WebhookRoutesOptions extends WebhookRules {
  readonly database: Database
  readonly clock: typeof databaseTime
}

export function webhookRoutes(app: ModuleInstance, options: WebhookRoutesOptions): void {
  const { database, clock } = options
  const config = { access: 'caller' } as const
  const changes = {
    ...config,
    ifMatch: {
      resource: 'the webhook',
      *find(caller: Caller, id: string) {
        return yield* showWebhook(caller, id, yield* clock())
      },
    },
  }
  // A guest may list, and has no webhooks. All other requests of a guest fail.
  const security = [{ bearer: [] }]

  app.get(
    '/webhook',
    {
      config,
      schema: {
        summary: 'List webhooks, newest first',
        querystring: WebhookQuery,
        response: {
          200: CursorPageOf(Webhook),
          ...responses('invalid-request', 'insufficient-scope'),
        },
      },
    },
    async ({ caller, query }, reply) =>
      reply.paged(
        await database.snapshot(function* () {
          return yield* listWebhooks(caller, query, yield* clock())
        }),
      ),
  )

  app.post(
    '/webhook',
    {
      config,
      schema: {
        summary: 'Create a webhook',
        security,
        body: NewWebhook,
        response: {
          201: CreatedWebhook,
          ...responses('invalid-request', 'sign-in-needed', 'insufficient-scope', 'webhook-limit'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { caller, body, audit } = request
        const webhook = yield* createWebhook(caller, body, options, audit, yield* clock())
        return answer(201, webhook, { location: `/webhook/${webhook.id}` })
      }),
  )

  app.get(
    '/webhook/:id',
    {
      config,
      schema: {
        summary: 'Get a webhook',
        security,
        params: IdParams,
        response: { 200: Webhook, ...responses('webhook-not-found') },
      },
    },
    ({ caller, params }) =>
      database.snapshot(function* () {
        return yield* showWebhook(caller, params.id, yield* clock())
      }),
  )

  app.patch(
    '/webhook/:id',
    {
      config: changes,
      // The handler rejects an invalid body only after it found the webhook: 404 comes first.
      attachValidation: true,
      schema: {
        summary: 'Change a webhook, or enable it again',
        security,
        description:
          'For a webhook with the events of all callers, `url`, `enabled: true`, `everyone: true` and more types need `event:read`; a change to less needs no scope. Every change with `event:read` proves the right again.',
        params: IdParams,
        body: WebhookChange,
        response: {
          200: Webhook,
          ...responses('invalid-request', 'insufficient-scope', 'webhook-not-found'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { caller, params, body, audit } = request
        return yield* changeWebhook(caller, params.id, body, options, audit, yield* clock())
      }),
  )

  app.delete(
    '/webhook/:id',
    {
      config: changes,
      schema: {
        summary: 'Delete a webhook',
        security,
        params: IdParams,
        response: { 200: Deleted, ...responses('webhook-not-found') },
      },
    },
    (request) =>
      request.transaction(function* () {
        return yield* removeWebhook(request.caller, request.params.id, request.audit, yield* clock())
      }),
  )

  app.post(
    '/webhook/:id/secret',
    {
      config: changes,
      schema: {
        summary: 'Rotate the secret; the previous one also signs for another day',
        security,
        params: IdParams,
        response: {
          201: RotatedSecret,
          ...responses('insufficient-scope', 'webhook-not-found'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { caller, params, audit } = request
        return answer(201, yield* rotateSecret(caller, params.id, options, audit, yield* clock()))
      }),
  )

  app.post(
    '/webhook/:id/test',
    {
      config,
      schema: {
        summary: 'Send a test event, once',
        security,
        description: 'Its delivery, under `Location`, soon shows the response.',
        params: IdParams,
        response: {
          202: Delivery,
          ...responses('insufficient-scope', 'webhook-not-found', 'webhook-disabled', 'webhook-full'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        const delivery = yield* testWebhook(request.caller, id, options, yield* clock())
        return answer(202, delivery, { location: `/webhook/${id}/delivery/${delivery.id}` })
      }),
  )

  app.get(
    '/webhook/:id/delivery',
    {
      config,
      schema: {
        summary: 'List the deliveries of a webhook, newest first',
        security,
        description: "Deliveries of other callers' events need `event:read`.",
        params: IdParams,
        querystring: DeliveryQuery,
        response: { 200: DeliveryList, ...responses('insufficient-scope', 'webhook-not-found') },
      },
    },
    async (request) => {
      const { caller, params, query, url } = request
      const { data, more } = await database.snapshot(() => listDeliveries(caller, params.id, query))
      const next = new URLSearchParams(url.split('?')[1])
      next.set('before', data.at(-1)?.id ?? '')
      return { data, next: more ? `${url.split('?')[0]}?${next}` : null }
    },
  )

  app.get(
    '/webhook/:id/delivery/:delivery',
    {
      config,
      schema: {
        summary: 'Get a delivery',
        security,
        description: "A delivery of another caller's event needs `event:read`.",
        params: DeliveryParams,
        response: {
          200: Delivery,
          ...responses('insufficient-scope', 'webhook-not-found', 'delivery-not-found'),
        },
      },
    },
    (request) => {
      const { id, delivery } = request.params
      return database.snapshot(() => showDelivery(request.caller, id, delivery))
    },
  )

  app.post(
    '/webhook/:id/delivery/:delivery/replay',
    {
      config,
      schema: {
        summary: 'Replay a delivery, with the same id',
        security,
        params: DeliveryParams,
        response: {
          200: Delivery,
          ...responses(
            'insufficient-scope',
            'webhook-not-found',
            'delivery-not-found',
            'webhook-disabled',
            'webhook-full',
          ),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id, delivery } = request.params
        return yield* replayDelivery(request.caller, id, delivery, options, yield* clock())
      }),
  )
}
