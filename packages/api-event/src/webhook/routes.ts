import {
  type Caller,
  CursorPageOf,
  type Database,
  Deleted,
  IdParams,
  type ModuleInstance,
  respond,
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

export function webhookRoutes(app: ModuleInstance, database: Database, rules: WebhookRules): void {
  const config = { access: 'caller' } as const
  const changes = {
    ...config,
    ifMatch: {
      resource: 'the webhook',
      find: (caller: Caller, id: string) => showWebhook(caller, id, rules),
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
      reply.paged(await database.snapshot(() => listWebhooks(caller, query, rules))),
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
        const webhook = yield* createWebhook(request, request.body, rules)
        return respond(201, webhook, { location: `/webhook/${webhook.id}` })
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
    ({ caller, params }) => database.snapshot(() => showWebhook(caller, params.id, rules)),
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
    (request) => request.transaction(() => changeWebhook(request, request.params.id, request.body, rules)),
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
    (request) => request.transaction(() => removeWebhook(request, request.params.id, rules)),
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
        return respond(201, yield* rotateSecret(request, request.params.id, rules))
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
        const delivery = yield* testWebhook(request.caller, id, rules)
        return respond(202, delivery, { location: `/webhook/${id}/delivery/${delivery.id}` })
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
    ({ caller, params, query, url }) =>
      database.snapshot(() => listDeliveries(caller, params.id, query, url)),
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
      request.transaction(() => {
        const { id, delivery } = request.params
        return replayDelivery(request.caller, id, delivery, rules)
      }),
  )
}
