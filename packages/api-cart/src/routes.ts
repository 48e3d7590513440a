import { answer, type Database, Deleted, IdParams, List, type ModuleInstance } from '@mortise/module-sdk'
import { problems } from './problems.ts'
import { Cart, CartItem, Emptied, ItemChange, NewItem } from './schemas.ts'
import { addItem, cartVersion, changeItem, emptyCart, removeItem, showCart, showItem } from './service.ts'

/** The routes of the cart, all of them the caller's own. */
export function cartRoutes(app: ModuleInstance, database: Database): void {
  const config = { access: 'caller' } as const
  const changesCart = { ...config, ifMatch: 'the cart' }
  const changesItem = { ...config, ifMatch: 'the item' }

  app.get('/cart', { config, schema: { summary: 'The cart', response: { 200: Cart } } }, (request) =>
    showCart(database, request.caller),
  )

  app.delete(
    '/cart',
    { config: changesCart, schema: { summary: 'Empty the cart', response: { 200: Emptied } } },
    (request) =>
      request.transaction(function* () {
        yield* request.ifMatch(() => cartVersion(request.caller))
        yield* emptyCart(request.caller)
        return answer(200, { deleted: true })
      }),
  )

  app.get(
    '/cart/item',
    {
      config,
      schema: { summary: 'The items of the cart, in the order added', response: { 200: List(CartItem) } },
    },
    async (request) => ({ data: (await showCart(database, request.caller)).items }),
  )

  app.post(
    '/cart/item',
    {
      config: changesCart,
      schema: {
        summary: 'Add a quantity of a product to the cart',
        body: NewItem,
        response: {
          200: { ...CartItem, description: 'added to the line of this product' },
          201: { ...CartItem, description: 'a new line' },
          ...problems.responses('quantity-limit', 'cart-full'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        yield* request.ifMatch(() => cartVersion(request.caller))
        const { item, added } = yield* addItem(request.caller, request.body)
        return added ? answer(201, item, { location: `/cart/item/${item.id}` }) : answer(200, item)
      }),
  )

  app.get(
    '/cart/item/:id',
    {
      config,
      schema: {
        summary: 'One item of the cart',
        params: IdParams,
        response: { 200: CartItem, ...problems.responses('item-not-found') },
      },
    },
    (request) => database.snapshot(() => showItem(request.caller, request.params.id)),
  )

  app.patch(
    '/cart/item/:id',
    {
      config: changesItem,
      schema: {
        summary: 'Set the quantity of an item',
        params: IdParams,
        body: ItemChange,
        response: { 200: CartItem, ...problems.responses('item-not-found') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        yield* request.ifMatch(() => showItem(request.caller, id))
        return answer(200, yield* changeItem(request.caller, id, request.body.quantity))
      }),
  )

  app.delete(
    '/cart/item/:id',
    {
      config: changesItem,
      schema: {
        summary: 'Remove an item from the cart',
        params: IdParams,
        response: { 200: Deleted, ...problems.responses('item-not-found') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        yield* request.ifMatch(() => showItem(request.caller, id))
        yield* removeItem(request.caller, id)
        return answer(200, { id, deleted: true })
      }),
  )
}
