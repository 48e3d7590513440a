import { defineModule, Id, Nullable, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type {} from './events.ts'
import { Note, Product, Quantity } from './schemas.ts'

const version = Type.Integer({ description: 'of the cart' })
const Item = Type.Object({
  id: Id('item'),
  product: Product,
  identity: Type.Optional(Type.String({ description: 'of the product, whatever gets its id later' })),
  quantity: Quantity,
  note: Nullable(Note),
  version,
})

/** The subject of each event is the cart; the event's owner is the cart's owner. */
export const { emit, plugin, problem, responses } = defineModule('api-cart', {
  settings: Strict({
    reservationMinutes: Type.Integer({
      minimum: 0,
      maximum: 1440,
      default: 0,
      description: 'minutes for which POST /cart/reservation takes stock; 0: carts reserve nothing',
    }),
  }),
  events: {
    'cart.item-added': Item,
    'cart.item-changed': Item,
    'cart.item-removed': Item,
    'cart.emptied': Type.Object({
      itemCount: Type.Integer({ description: 'the number of items before' }),
      version,
    }),
    'cart.claimed': Type.Object({ from: Type.String({ description: 'the guest who owned it' }), version }),
  },
  problems: {
    'item-not-found': { status: 404, title: 'Cart item not found' },
    'quantity-limit': { status: 409, title: 'The quantity of a line exceeds its limit' },
    'cart-full': { status: 409, title: 'The cart is full' },
    'cart-empty': {
      status: 409,
      title: 'The cart is empty',
      detail: 'The cart has no lines, so there is nothing to reserve: add an item first.',
    },
    'out-of-stock': { status: 409, title: 'There is too little of a product' },
    'reservation-unavailable': {
      status: 409,
      title: 'Carts reserve no stock here',
      detail:
        'The operator has not switched reservations on, or no module has stock: purchase without a reservation.',
    },
    'unknown-product': { status: 422, title: 'The product is not for sale' },
  },
})
