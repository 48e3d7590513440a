import type { Caller, Transaction } from '@mortise/module-sdk'
import type { CartItem, NewItem } from './schemas.ts'

declare module '@mortise/module-sdk' {
  interface Contracts {
    cart: CartContract
  }
}

export interface CartQuantity {
  readonly product: string
  readonly quantity: number
}

/** Of a line: the product that it means, as the contract `catalog` names it. */
export interface CartLine extends CartQuantity {
  /** Null if the line has none: it means the product that has the id now. */
  readonly identity: string | null
}

/** The contract `cart` 1: a module uses callers' carts in its own transaction. */
export interface CartContract {
  /**
   * Takes exactly these quantities out of the cart of `caller`. Name each product once. Give the
   * identities to `take` of the catalogue: it does not sell another product that has got the id since.
   * @returns `short`: the products that the cart has too few of, with the quantity in the cart. If
   * there are any, nothing was taken.
   */
  take(
    caller: Caller,
    quantities: readonly CartQuantity[],
  ): Transaction<{ readonly short: readonly CartQuantity[]; readonly taken: readonly CartLine[] }>
  /**
   * Adds a quantity of a product to the cart of `caller`, like POST /cart/item.
   * @returns the item, and whether it is new
   * @throws {Problem} `quantity-limit`, `cart-full`
   */
  add(caller: Caller, item: NewItem): Transaction<{ item: CartItem; added: boolean }>
  /**
   * Takes up to these quantities out of the reservation of `caller`. Name each product once. Call it
   * before `take`, which gives back what the cart has less of. The stock stays taken: this transaction
   * gives it to `take` of the catalogue as `held`, or gives it back. Only if carts reserve
   * stock.
   * @returns what was reserved of the quantities
   */
  takeReserved?(caller: Caller, quantities: readonly CartQuantity[]): Transaction<CartLine[]>
}
