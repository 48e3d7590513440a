import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyInstance } from 'fastify'
import { type BareCaller, BareCallers } from './callers.ts'
import { BareCart } from './cart.ts'
import { commitEach, commitGrouped } from './commit.ts'
import { openDatabase } from './open-database.ts'
import { BarePurchases } from './purchases.ts'
import { Cart, CartItem, NewItem, NewPurchase, Purchase } from './schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    bareCaller: BareCaller | undefined
  }
}

export interface BareOptions {
  /** The SQLite file, which is not there yet. */
  readonly file: string
  /** Signs the JWTs of users. */
  readonly secret: string
  /** Whether transactions share a COMMIT. */
  readonly commit: 'each' | 'grouped'
}

/**
 * What a good engineer would write by hand for three routes and nothing else: Fastify, the schemas, prepared
 * statements. What the host does beyond that (problem details, strict JSON, security headers, request ids,
 * generations, modules) is missing, since its price is what is measured.
 */
export function createBareApp({ file, secret, commit }: BareOptions): FastifyInstance {
  const database = openDatabase(file)
  const transaction = commit === 'each' ? commitEach(database) : commitGrouped(database)
  const callers = new BareCallers(database, Buffer.from(secret))
  const cart = new BareCart(database)
  const purchases = new BarePurchases(database)

  const app = fastify({
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.addHook('onClose', () => {
    database.close()
  })
  app.decorateRequest('bareCaller', undefined)

  app.addHook('onRequest', (request, reply, done) => {
    const { authorization, 'guest-token': token } = request.headers
    if (authorization === undefined) {
      request.bareCaller = token === undefined ? callers.newGuest() : callers.findGuest(String(token))
      if (request.bareCaller) done()
      else reply.code(401).send(new Error('unknown guest'))
      return
    }
    request.bareCaller = callers.knownUser(authorization)
    if (request.bareCaller) return done()
    callers.verifyUser(authorization).then(
      (user) => {
        request.bareCaller = user
        done()
      },
      (error: Error) => reply.code(401).send(error),
    )
  })

  app.get('/cart', { schema: { response: { 200: Cart } } }, (request, reply) => {
    reply.send(cart.show(request.bareCaller as BareCaller, Date.now()))
  })

  app.post(
    '/cart/item',
    { schema: { body: NewItem, response: { 200: CartItem, 201: CartItem } } },
    async (request, reply) => {
      const caller = request.bareCaller as BareCaller
      const { product, quantity } = request.body
      const { item, added } = await transaction(() => {
        const now = Date.now()
        callers.keep(caller, now)
        return cart.add(caller, product, quantity, now)
      })
      if (caller.guest?.newToken) reply.header('guest-token', caller.guest.newToken)
      if (!added) return item
      reply.code(201).header('location', `/cart/item/${item.id}`)
      return item
    },
  )

  app.post(
    '/purchase',
    { schema: { body: NewPurchase, response: { 201: Purchase } } },
    async (request, reply) => {
      const caller = request.bareCaller as BareCaller
      const { items } = request.body
      const purchase = await transaction(() => {
        const now = Date.now()
        callers.keep(caller, now)
        return purchases.create(caller, items, now)
      })
      if (caller.guest?.newToken) reply.header('guest-token', caller.guest.newToken)
      reply.code(201).header('location', `/purchase/${purchase.id}`)
      return purchase
    },
  )
  return app
}
