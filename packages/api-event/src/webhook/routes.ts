import { answer, type Database, Deleted, IdParams, type ModuleInstance, PageOf } from '@mortise/module-sdk'
import { problems } from '../problems.ts'
import type { Clock } from './clock.ts'
import type { Destinations } from './destinations.ts'
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
} from './service.ts'

export interface WebhookRoutesOptions {
  readonly database: Database
  readonly clock: Clock
  readonly destinations: Destinations
  /** How many webhooks a caller may have. */
  readonly perCaller: number
}

/** The routes of webhooks and their deliveries. */
export function webhookRoutes(app: ModuleInstance, options: WebhookRoutesOptions): void {
  const { database, clock, destinations } = options
  const config = { access: 'caller' } as const
  const changes = { ...config, ifMatch: 'the webhook' }

  app.get(
    '/webhook',
    {
      config,
      schema: {
        summary: 'A page of webhooks, newest first',
        querystring: WebhookQuery,
        response: { 200: PageOf(Webhook), ...problems.responses('insufficient-scope') },
      },
    },
    async (request, reply) =>
      reply.paged(await database.snapshot(() => listWebhooks(request.caller, request.query))),
  )

  app.post(
    '/webhook',
    {
      config,
      schema: {
        summary: 'Have events sent to a URL',
        body: NewWebhook,
        response: {
          201: CreatedWebhook,
          ...problems.responses('invalid-request', 'sign-in-needed', 'insufficient-scope', 'webhook-limit'),
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
        summary: 'One webhook',
        params: IdParams,
        response: { 200: Webhook, ...problems.responses('webhook-not-found') },
      },
    },
    (request) => database.snapshot(() => showWebhook(request.caller, request.params.id)),
  )

  app.patch(
    '/webhook/:id',
    {
      config: changes,
      // A body that is wrong is refused below, where there is such a webhook.
      attachValidation: true,
      schema: {
        summary: 'Change a webhook, or enable it again',
        params: IdParams,
        body: WebhookChange,
        response: {
          200: Webhook,
          ...problems.responses('invalid-request', 'insufficient-scope', 'webhook-not-found'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { caller, params, body, audit } = request
        yield* showWebhook(caller, params.id)
        if (request.validationError) throw request.validationError
        yield* request.ifMatch(() => showWebhook(caller, params.id))
        return answer(200, yield* changeWebhook(caller, params.id, body, destinations, audit, yield* clock()))
      }),
  )

  app.delete(
    '/webhook/:id',
    {
      config: changes,
      schema: {
        summary: 'Delete a webhook',
        params: IdParams,
        response: { 200: Deleted, ...problems.responses('webhook-not-found') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        yield* request.ifMatch(() => showWebhook(request.caller, id))
        yield* removeWebhook(request.caller, id, request.audit, yield* clock())
        return answer(200, { id, deleted: true })
      }),
  )

  app.post(
    '/webhook/:id/secret',
    {
      config: changes,
      schema: {
        summary: 'Make a new secret; the former one signs for another day',
        params: IdParams,
        response: {
          201: RotatedSecret,
          ...problems.responses('insufficient-scope', 'webhook-not-found'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        yield* request.ifMatch(() => showWebhook(request.caller, id))
        return answer(201, yield* rotateSecret(request.caller, id, request.audit, yield* clock()))
      }),
  )

  app.post(
    '/webhook/:id/test',
    {
      config,
      schema: {
        summary: 'Send a test event, once',
        description: 'Its delivery, under `Location`, soon shows what was answered.',
        params: IdParams,
        response: {
          202: Delivery,
          ...problems.responses('insufficient-scope', 'webhook-not-found', 'webhook-disabled'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        const delivery = yield* testWebhook(request.caller, id, yield* clock())
        return answer(202, delivery, { location: `/webhook/${id}/delivery/${delivery.id}` })
      }),
  )

  app.get(
    '/webhook/:id/delivery',
    {
      config,
      schema: {
        summary: 'A page of the deliveries of a webhook, newest first',
        params: IdParams,
        querystring: DeliveryQuery,
        response: { 200: DeliveryList, ...problems.responses('webhook-not-found') },
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
        summary: 'One delivery',
        params: DeliveryParams,
        response: { 200: Delivery, ...problems.responses('webhook-not-found', 'delivery-not-found') },
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
        summary: 'Send a delivery again, under the id that it had',
        params: DeliveryParams,
        response: {
          200: Delivery,
          ...problems.responses(
            'insufficient-scope',
            'webhook-not-found',
            'delivery-not-found',
            'webhook-disabled',
          ),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id, delivery } = request.params
        return answer(200, yield* replayDelivery(request.caller, id, delivery, yield* clock()))
      }),
  )
}
