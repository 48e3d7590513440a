import { defineModule, Id } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { Product, Quantity } from './schemas.ts'

const version = Type.Integer({ description: 'of the cart' })
const Item = Type.Object({ id: Id('item'), product: Product, quantity: Quantity, version })

/** The subject of each event is the cart; the event's owner is the cart's owner. */
export const { emit, plugin, problem, responses } = defineModule('api-cart', {
  events: {
    'cart.item-added': Item,
    'cart.item-changed': Item,
    'cart.item-removed': Item,
    'cart.emptied': Type.Object({ itemCount: Type.Integer({ description: 'how many it had' }), version }),
    'cart.claimed': Type.Object({ from: Type.String({ description: 'the guest who had it' }), version }),
  },
  problems: {
    'item-not-found': { status: 404, title: 'There is no such item in the cart' },
    'quantity-limit': { status: 409, title: 'A line of the cart may not hold that many' },
    'cart-full': { status: 409, title: 'The cart has no room for another line' },
  },
})
