import { defineEvents } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { Purchase } from './schemas.ts'
import { Status } from './status.ts'

const version = Type.Integer({ description: 'of the purchase' })

/** What happens to purchases: each event's subject is one, its owner who has it. */
export const emit = defineEvents('api-purchase', {
  'purchase.created': Purchase,
  'purchase.status-changed': Type.Object({ status: Status, from: Status, version }),
  'purchase.deleted': Type.Object({ status: Status }),
  'purchase.claimed': Type.Object({ from: Type.String({ description: 'the guest who had it' }), version }),
})
