import type { CatalogContract } from '@mortise/api-product/contract'
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
import { Cart, CartItem, Emptied, ItemChange, NewItem } from './schemas.ts'
import { addItem, cartVersion, changeItem, emptyCart, removeItem, showCart, showItem } from './service.ts'

/** The routes of the cart. A caller reaches only their own cart. */
export function cartRoutes(
  app: ModuleInstance,
  database: Database,
  catalog: CatalogContract | undefined,
): void {
  const config = { access: 'caller' } as const
  const changesCart = { ...config, ifMatch: { resource: 'the cart', find: cartVersion } }
  const changesItem = {
    ...config,
    ifMatch: { resource: 'the item', find: (caller: Caller, id: string) => showItem(caller, id) },
  }
  const item = { params: IdParams, response: { 200: CartItem, ...responses('item-not-found') } }

  app.get('/cart', { config, schema: { summary: 'Get the cart', response: { 200: Cart } } }, (request) =>
    showCart(database, request.caller, catalog),
  )

  app.delete(
    '/cart',
    { config: changesCart, schema: { summary: 'Empty the cart', response: { 200: Emptied } } },
    (request) => request.transaction(() => emptyCart(request.caller)),
  )

  app.get(
    '/cart/item',
    {
      config,
      schema: { summary: 'List the items of the cart, oldest first', response: { 200: List(CartItem) } },
    },
    async (request) => ({ data: (await showCart(database, request.caller, catalog)).items }),
  )

  app.post(
    '/cart/item',
    {
      config: changesCart,
      schema: {
        summary: 'Add a quantity of a product to the cart',
        body: NewItem,
        response: {
          200: { ...CartItem, description: 'added to the existing line of this product' },
          201: { ...CartItem, description: 'a new line' },
          ...responses('quantity-limit', 'cart-full', 'unknown-product'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { item, added } = yield* addItem(request.caller, request.body, catalog)
        return added ? respond(201, item, { location: `/cart/item/${item.id}` }) : item
      }),
  )

  app.get('/cart/item/:id', { config, schema: { summary: 'Get an item of the cart', ...item } }, (request) =>
    database.snapshot(() => showItem(request.caller, request.params.id, catalog)),
  )

  app.patch(
    '/cart/item/:id',
    {
      config: changesItem,
      schema: {
        summary: 'Set the quantity or the note of an item',
        body: ItemChange,
        ...item,
        response: { ...item.response, ...responses('item-not-found', 'unknown-product') },
      },
    },
    (request) =>
      request.transaction(() => changeItem(request.caller, request.params.id, request.body, catalog)),
  )

  app.delete(
    '/cart/item/:id',
    {
      config: changesItem,
      schema: {
        summary: 'Remove an item from the cart',
        ...item,
        response: { ...item.response, 200: Deleted },
      },
    },
    (request) => request.transaction(() => removeItem(request.caller, request.params.id)),
  )
}
