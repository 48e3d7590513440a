import type { Purchase } from './schemas.ts'
import type { Status } from './status.ts'

declare module '@mortise/module-sdk' {
  interface EventTypes {
    'purchase.created': Purchase
    'purchase.status-changed': { status: Status; from: Status; version: number }
    'purchase.deleted': { status: Status }
    'purchase.claimed': { from: string; version: number }
  }
}
