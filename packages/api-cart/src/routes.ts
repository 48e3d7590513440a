import {
  type Caller,
  type Database,
  Deleted,
  IdParams,
  List,
  type ModuleInstance,
  respond,
} from '@mortise/module-sdk'
import { responses } from './module.ts'
import { prefersRepresentation } from './prefer.ts'
import { reserve } from './reservation.ts'
import {
  Cart,
  CartItem,
  Emptied,
  ItemChange,
  NewContents,
  NewItem,
  orCart,
  Preference,
  Reservation,
} from './schemas.ts'
import {
  addItem,
  cartVersion,
  changeItem,
  emptyCart,
  readCart,
  removeItem,
  replaceItems,
  showCart,
  showItem,
} from './service.ts'
import type { Shop } from './shelf.ts'

interface Preferring {
  readonly caller: Caller
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The routes of the cart. A caller reaches only their own cart. */
export function cartRoutes(app: ModuleInstance, database: Database, shop: Shop): void {
  const config = { access: 'caller' } as const
  const changesCart = { ...config, ifMatch: { resource: 'the cart', find: cartVersion } }
  const changesItem = { ...config, ifMatch: { resource: 'the item', find: showItem } }
  const item = { params: IdParams, response: { 200: CartItem, ...responses('item-not-found') } }

  /** The whole cart, if the client prefers it. */
  function* preferred<Body>({ caller, headers }: Preferring, body: Body) {
    if (!prefersRepresentation(headers.prefer)) return { body, headers: {} }
    const applied = { 'preference-applied': 'return=representation' }
    return { body: yield* readCart(caller, shop), headers: applied }
  }

  app.get('/cart', { config, schema: { summary: 'Get the cart', response: { 200: Cart } } }, (request) =>
    showCart(database, request.caller, shop),
  )

  app.put(
    '/cart',
    {
      config: changesCart,
      schema: {
        summary: 'Set all items of the cart',
        body: NewContents,
        response: { 200: Cart, ...responses('invalid-request', 'unknown-product') },
      },
    },
    (request) => request.transaction(() => replaceItems(request.caller, request.body, shop)),
  )

  app.delete(
    '/cart',
    { config: changesCart, schema: { summary: 'Empty the cart', response: { 200: Emptied } } },
    (request) => request.transaction(() => emptyCart(request.caller, shop)),
  )

  app.post(
    '/cart/reservation',
    {
      config: changesCart,
      schema: {
        summary: 'Reserve the stock of all lines for a while, or renew the reservation',
        response: {
          200: Reservation,
          ...responses('cart-empty', 'out-of-stock', 'reservation-unavailable', 'unknown-product'),
        },
      },
    },
    (request) => request.transaction(() => reserve(request.caller, shop)),
  )

  app.get(
    '/cart/item',
    {
      config,
      schema: { summary: 'List the items of the cart, oldest first', response: { 200: List(CartItem) } },
    },
    async (request) => ({
      data: (await showCart(database, request.caller, { ...shop, pricing: undefined })).items,
    }),
  )

  app.post(
    '/cart/item',
    {
      config: changesCart,
      schema: {
        summary: 'Add a quantity of a product to the cart',
        headers: Preference,
        body: NewItem,
        response: {
          200: orCart(CartItem, 'added to the existing line of this product'),
          201: orCart(CartItem, 'a new line'),
          ...responses('quantity-limit', 'cart-full', 'unknown-product'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { item, added } = yield* addItem(request.caller, request.body, shop)
        const { body, headers } = yield* preferred(request, item)
        return added
          ? respond(201, body, { ...headers, location: `/cart/item/${item.id}` })
          : respond(200, body, headers)
      }),
  )

  app.get('/cart/item/:id', { config, schema: { summary: 'Get an item of the cart', ...item } }, (request) =>
    database.snapshot(() => showItem(request.caller, request.params.id, shop)),
  )

  app.patch(
    '/cart/item/:id',
    {
      config: changesItem,
      schema: {
        summary: 'Set the quantity or the note of an item',
        headers: Preference,
        body: ItemChange,
        ...item,
        response: { 200: orCart(CartItem), ...responses('item-not-found', 'unknown-product') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const item = yield* changeItem(request.caller, request.params.id, request.body, shop)
        const { body, headers } = yield* preferred(request, item)
        return respond(200, body, headers)
      }),
  )

  app.delete(
    '/cart/item/:id',
    {
      config: changesItem,
      schema: {
        summary: 'Remove an item from the cart',
        headers: Preference,
        ...item,
        response: { ...item.response, 200: orCart(Deleted) },
      },
    },
    (request) =>
      request.transaction(function* () {
        const removed = yield* removeItem(request.caller, request.params.id, shop)
        const { body, headers } = yield* preferred(request, removed)
        return respond(200, body, headers)
      }),
  )
}
