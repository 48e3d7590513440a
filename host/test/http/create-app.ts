import { IdParams, Strict } from '@mortise/module-sdk'
import { defineProblems } from '@mortise/module-sdk/host'
import { Type } from '@sinclair/typebox'
import fastify, { type FastifyInstance } from 'fastify'
import pino from 'pino'
import type { Test } from 'tap'
import { cors } from '../../src/http/cors.ts'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { securityHeaders, unknownRoutes } from '../../src/http/head.ts'
import { paging } from '../../src/http/paging.ts'
import { problemDetails } from '../../src/http/problem-details.ts'
import { requestBodies } from '../../src/http/request-body.ts'
import { validation } from '../../src/http/validation.ts'
import type { EventType } from '../../src/modules/event-types.ts'
import { docsPage } from '../../src/routes/docs-page.ts'
import { health } from '../../src/routes/health.ts'
import { openapi } from '../../src/routes/openapi.ts'
import { overview } from '../../src/routes/overview.ts'

export interface AppOptions {
  readonly publicUrl?: string
  readonly eventTypes?: Iterable<EventType>
  readonly basePath?: string
  readonly origins?: readonly string[]
  readonly notReady?: () => string | undefined
  /** What the log gets, as JSON lines. */
  readonly log?: string[]
  readonly routes?: (scope: FastifyInstance) => void
}

const application = { name: 'Shop', version: '3.2.1' }

export const modules = [
  { id: 'api-cart', version: '1.0.0', state: 'active' },
  { id: 'api-broken', version: '0.1.0', state: 'failed', reason: 'it throws' },
] as const

const caller = { access: 'caller', module: 'api-cart' } as const
const problems = defineProblems('cart', {
  'item-not-found': { status: 404, title: 'No such item' },
  'cart-full': { status: 409, title: 'The cart is full' },
})

/** Everything of the HTTP layer in the host's order, with routes like a cart's; closed after the test. */
export async function createApp(t: Test, options: AppOptions = {}): Promise<FastifyInstance> {
  const { publicUrl, basePath = '', origins = [], notReady = () => undefined, log = [], routes } = options
  const logger = pino({ level: 'info' }, { write: (line) => log.push(line) })
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(() => app.close())
  await app.register(problemDetails)
  await app.register(securityHeaders, { publicUrl })
  await app.register(cors, { origins })
  await app.register(unknownRoutes, { basePath })
  await app.register(requestBodies)
  await app.register(validation)
  await app.register(paging, { publicUrl })
  await app.register(
    async (scope) => {
      await scope.register(openapi, { application, publicUrl, eventTypes: options.eventTypes ?? [] })
      await scope.register(docsPage, { application })
      await scope.register(health, { notReady })
      await scope.register(overview, { application, modules })
      cart(scope)
      routes?.(scope)
    },
    { prefix: basePath },
  )
  return app
}

/** What a handler got comes back in the response. */
function cart(scope: FastifyInstance): void {
  const Item = Type.Object({ id: Type.String(), body: Type.Optional(Type.Unknown()) })
  const response = { 200: Item, ...problems.responses('item-not-found') }
  const item = Strict({
    product: Type.String({ minLength: 1, maxLength: 128 }),
    quantity: Type.Integer({ minimum: 1, maximum: 9999 }),
  })
  const noItem = () => {
    throw problems.create('item-not-found', 'The cart holds no such item.')
  }
  const echo = async ({ body }: { body: unknown }) => ({ id: 'item_1', body })

  scope.get('/cart', { config: caller, schema: { response: { 200: Item } } }, async () => ({ id: 'cart_1' }))
  scope.delete('/cart', { config: caller }, async ({ body }) => ({ deleted: true, body }))
  scope.post('/cart/item', { config: caller, schema: { body: item, response } }, echo)
  scope.get('/cart/item/:id', { config: caller, schema: { params: IdParams, response } }, noItem)
  scope.patch('/cart/item/:id', { config: caller, schema: { params: IdParams, response } }, noItem)
  scope.delete('/cart/item/:id', { config: caller, schema: { params: IdParams, response } }, noItem)
  scope.post(
    '/purchase',
    {
      config: { access: 'purchase:manage', module: 'api-purchase' },
      schema: { body: Strict({ items: Type.Array(item, { minItems: 1, maxItems: 200 }) }), response },
    },
    echo,
  )
}
