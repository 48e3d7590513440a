import type { Money, Transaction } from '@mortise/module-sdk'

declare module '@mortise/module-sdk' {
  interface Contracts {
    catalog: CatalogContract
  }
}

/** A product as carts and purchases need it. */
export interface CatalogProduct {
  /** Its id: the `product` of a line. */
  readonly product: string
  readonly name: string
  readonly image: { readonly url: string; readonly alt: string } | null
  /**
   * The price of one, in the currency that all products of the call have in common; without one,
   * the first of its own prices.
   */
  readonly price: Money
  /** Whether it may be sold. */
  readonly active: boolean
  /** Null: unlimited. */
  readonly stock: number | null
}

export interface ProductQuantity {
  readonly product: string
  readonly quantity: number
}

/** What `take` found, and whether it took. */
export interface Taken {
  /** Those of the products that exist, before anything was taken. */
  readonly products: readonly CatalogProduct[]
  /** The products that have too little, with their stock. If there are any, nothing was taken. */
  readonly short: readonly { readonly product: string; readonly stock: number }[]
}

/**
 * The contract `catalog` 1: products have names, prices and stock. Its steps run in the transaction
 * of the caller.
 */
export interface CatalogContract {
  /** Finds products, with one statement. Unknown ones are left out. */
  resolve(products: readonly string[]): Transaction<readonly CatalogProduct[]>
  /**
   * Takes the stock of lines, which may name a product several times: all of it, or nothing. An
   * unknown product takes nothing, and is none of `short`.
   */
  take(lines: readonly ProductQuantity[]): Transaction<Taken>
  /**
   * Gives back what was taken. A product that has unlimited stock now stays unlimited. Call it once
   * for what `take` took from a product with limited stock.
   */
  giveBack(lines: readonly ProductQuantity[]): Transaction<void>
}
