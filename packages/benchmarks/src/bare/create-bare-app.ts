import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyInstance } from 'fastify'
import { type BareCaller, BareUsers, newGuest } from './callers.ts'
import { Cart, CartItem, NewItem, NewPurchase, Purchase } from './schemas.ts'
import type { BareStore } from './store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    bareCaller: BareCaller | undefined
  }
}

/**
 * Three routes as a good engineer would write them by hand: Fastify, the schemas, prepared
 * statements. The host's other features (problem details, strict JSON, security headers, request
 * ids, generations, modules) are missing, because the benchmark measures their cost.
 * @param secret signs the JWTs of users
 */
export function createBareApp(store: BareStore, secret: string): FastifyInstance {
  const users = new BareUsers(Buffer.from(secret))
  const app = fastify({
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.addHook('onClose', () => store.close())
  app.decorateRequest('bareCaller', undefined)

  app.addHook('onRequest', (request, reply, done) => {
    const { authorization, 'guest-token': token } = request.headers
    const settle = (caller: BareCaller | undefined) => {
      request.bareCaller = caller
      if (caller) done()
      else reply.code(401).send(new Error('unknown guest'))
    }
    const refuse = (error: Error) => reply.code(401).send(error)
    if (authorization === undefined) {
      const guest = token === undefined ? newGuest() : store.findGuest(String(token))
      if (guest instanceof Promise) guest.then(settle, done)
      else settle(guest)
      return
    }
    const user = users.known(authorization)
    if (user) settle(user)
    else users.verify(authorization).then(settle, refuse)
  })

  app.get('/cart', { schema: { response: { 200: Cart } } }, (request, reply) => {
    const cart = store.showCart(request.bareCaller as BareCaller)
    if (cart instanceof Promise) return cart
    reply.send(cart)
  })

  app.post(
    '/cart/item',
    { schema: { body: NewItem, response: { 200: CartItem, 201: CartItem } } },
    async (request, reply) => {
      const caller = request.bareCaller as BareCaller
      const { item, added } = await store.addItem(caller, request.body)
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
      const purchase = await store.createPurchase(caller, request.body.items)
      if (caller.guest?.newToken) reply.header('guest-token', caller.guest.newToken)
      reply.code(201).header('location', `/purchase/${purchase.id}`)
      return purchase
    },
  )
  return app
}
