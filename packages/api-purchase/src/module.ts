import { defineModule, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type {} from './events.ts'
import { Purchase } from './schemas.ts'
import { Status } from './status.ts'

const version = Type.Integer({ description: 'of the purchase' })

/** The subject of each event is the purchase; the event's owner is the purchase's owner. */
export const { emit, plugin, problem, responses } = defineModule('api-purchase', {
  settings: Strict({
    expirePendingAfterMinutes: Type.Integer({
      minimum: 0,
      maximum: 525_600,
      default: 0,
      description: 'minutes until a pending purchase expires; 0: never',
    }),
  }),
  events: {
    'purchase.created': Purchase,
    'purchase.status-changed': Type.Object({ status: Status, from: Status, version }),
    'purchase.deleted': Type.Object({ status: Status }),
    'purchase.claimed': Type.Object({
      from: Type.String({ description: 'the guest who owned it' }),
      version,
    }),
  },
  problems: {
    'purchase-not-found': { status: 404, title: 'Purchase not found' },
    'illegal-transition': {
      status: 409,
      title: 'The purchase cannot change to that status',
      members: { allowed: Type.Array(Status, { description: 'where it can go' }) },
    },
    'cart-changed': { status: 409, title: 'The cart has less than the purchase takes' },
    'not-deletable': { status: 409, title: 'A purchase in this status cannot be deleted' },
    'cart-unavailable': { status: 422, title: 'The cart is unavailable' },
    'unknown-product': { status: 422, title: 'A product is not for sale' },
    'mixed-currency': { status: 422, title: 'The products have no currency in common' },
    'total-too-large': { status: 422, title: 'The total is too large' },
    'out-of-stock': { status: 409, title: 'There is too little of a product' },
    'total-changed': { status: 409, title: 'The total is not the expected one' },
  },
})
