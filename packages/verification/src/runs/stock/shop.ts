import type { Cut } from '../../harness/caller.ts'

/**
 * What the run asks of a shop over HTTP. To try another one, write an adapter with these. One without
 * reservations refuses each with 'out of stock', and has none.
 */
export interface Shop {
  createProduct(product: Product): Promise<void>
  /** @param price in minor units */
  setPrice(product: string, price: number): Promise<void>
  stockOf(product: string): Promise<number>
  /** The purchases that have a claim to their products: not the cancelled, expired and deleted ones. */
  purchases(): Promise<readonly Purchase[]>
  buyer(name: string): Promise<Buyer>
}

/**
 * Each call sends one request. Undefined: its outcome is unknown, and it will be repeated with its key.
 * @throws {Error} for a response that is none of these
 */
export interface Buyer {
  /** Sets all lines of the buyer's cart, each with another product. */
  fill(lines: readonly Line[], key: string, cut: Cut): Promise<true | undefined>
  /** Holds the stock of the cart's lines, instead of what the cart held before. */
  reserve(key: string, cut: Cut): Promise<true | 'out of stock' | undefined>
  /** What the cart holds. */
  reserved(): Promise<readonly Line[]>
  buy(lines: readonly Line[], key: string, cut: Cut): Promise<Purchase | 'out of stock' | undefined>
  cancel(purchase: Purchase, key: string, cut: Cut): Promise<Ended | undefined>
  remove(purchase: Purchase, key: string, cut: Cut): Promise<Ended | undefined>
}

/** Whether the request has ended the purchase, or it had ended before. */
export type Ended = 'now' | 'before'

export interface Product {
  readonly id: string
  readonly stock: number
  /** In minor units. */
  readonly price: number
}

export interface Line {
  readonly product: string
  readonly quantity: number
}

export interface Purchase {
  readonly id: string
  readonly lines: readonly (Line & { readonly price: number })[]
  readonly total: number
}
