import type { CartQuantity } from './contract.ts'

interface ItemEvent extends CartQuantity {
  id: string
  /** Of the product, if the catalogue has identities. */
  identity?: string
  note: string | null
  /** Of the cart. */
  version: number
}

declare module '@mortise/module-sdk' {
  interface EventTypes {
    'cart.item-added': ItemEvent
    'cart.item-changed': ItemEvent
    'cart.item-removed': ItemEvent
    'cart.emptied': { itemCount: number; version: number }
    'cart.claimed': { from: string; version: number }
  }
}
