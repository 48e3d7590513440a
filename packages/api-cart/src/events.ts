import { defineEvents, Id, Product, Quantity } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const version = Type.Integer({ description: 'of the cart' })
const Item = Type.Object({ id: Id('item'), product: Product, quantity: Quantity, version })

/** What happens to carts: each event's subject is one, its owner who has it. */
export const emit = defineEvents('api-cart', {
  'cart.item-added': Item,
  'cart.item-changed': Item,
  'cart.item-removed': Item,
  'cart.emptied': Type.Object({ itemCount: Type.Integer({ description: 'how many it had' }), version }),
  'cart.claimed': Type.Object({ from: Type.String({ description: 'the guest who had it' }), version }),
})
