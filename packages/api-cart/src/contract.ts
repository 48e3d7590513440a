import type { Caller, Transaction } from '@mortise/module-sdk'

declare module '@mortise/module-sdk' {
  interface Contracts {
    cart: CartContract
  }
}

/** How many of a product. */
export interface CartQuantity {
  readonly product: string
  readonly quantity: number
}

/** The contract `cart` 1: what a module may do with the carts of callers, in a transaction of its own. */
export interface CartContract {
  /**
   * Takes exactly these quantities, each product named once, out of the cart of `caller`.
   * @returns the products of which the cart has less, with what it has: where there are any, nothing was taken
   */
  take(caller: Caller, quantities: readonly CartQuantity[]): Transaction<CartQuantity[]>
}
