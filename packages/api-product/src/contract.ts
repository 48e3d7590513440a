import type { Caller, Money, Transaction } from '@mortise/module-sdk'

declare module '@mortise/module-sdk' {
  interface Contracts {
    catalog: CatalogContract
    pricing: PricingContract
  }
}

/** A product as carts and purchases need it. */
export interface CatalogProduct {
  /** Its id: the `product` of a line. */
  readonly product: string
  /**
   * What it is: a product that gets the id of a deleted one has another. Keep it with what comes back
   * later, such as a line or a purchase.
   */
  readonly identity: string
  readonly name: string
  readonly image: { readonly url: string; readonly alt: string } | null
  /**
   * The price of one, in a currency that all products of the call have in common; without one, the
   * first of its own prices.
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
  /** Of the product that is meant. Without it, of the one that has the id now. */
  readonly identity?: string | null
}

/** What `take` found, and whether it took. */
export interface Taken {
  /** Those of the products that exist, before anything was taken. */
  readonly products: readonly CatalogProduct[]
  /**
   * The products that have too little, with what the lines can have of them: the stock, and what is
   * held. If there are any, nothing was taken.
   */
  readonly short: readonly { readonly product: string; readonly stock: number }[]
}

/**
 * The contract `catalog` 1: products have names, prices and stock. Its steps run in the transaction
 * of the caller.
 */
export interface CatalogContract {
  /** Finds products in any order, with one statement. Name each once. Unknown ones are left out. */
  resolve(products: readonly string[]): Transaction<readonly CatalogProduct[]>
  /**
   * Takes the stock of lines, which may name a product several times: all of it, or nothing. An
   * unknown product takes nothing, and is none of `short`. Unknown is also another product than the
   * one that a line means.
   * @param held what was taken before for these lines, by a reservation: only the rest is taken now
   */
  take(lines: readonly ProductQuantity[], held?: readonly ProductQuantity[]): Transaction<Taken>
  /**
   * Gives back what was taken. A product that has unlimited stock now stays unlimited. Call it once
   * for what `take` took from a product with limited stock. Another product than the one that a line
   * means gets nothing.
   */
  giveBack(lines: readonly ProductQuantity[]): Transaction<void>
}

/** A line of a cart or a purchase, and what it costs before adjustments. */
export interface PricedLine extends ProductQuantity {
  readonly unitPrice: Money
  /** The unit price times the quantity. */
  readonly lineTotal: Money
}

/** A part of a total beside the totals of lines. */
export interface Adjustment {
  readonly kind: 'discount' | 'tax' | 'fee'
  /** Of the rule, for programs. */
  readonly id: string
  /** For people. */
  readonly label: string
  /** In the currency of the lines. It is added to the total: that of a discount is below zero. */
  readonly amount: Money
  /** The line that it is for, by its product. Without it, all of them. */
  readonly product?: string
}

/** The contract `pricing` 1: discounts, taxes and fees of carts and purchases. */
export interface PricingContract {
  /**
   * The adjustments of lines, in the order in which they are shown. All lines have one currency, and
   * each has another product. The same lines and rules give the same adjustments, so that a purchase
   * has the total that its cart has shown. Runs in the transaction of the purchase, or in the
   * snapshot that reads the cart, where it may not write. A problem that it throws is a defect: the
   * response is 500.
   */
  adjust(caller: Caller, lines: readonly PricedLine[]): Transaction<readonly Adjustment[]>
}
