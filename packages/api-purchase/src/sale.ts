import type {
  CatalogContract,
  CatalogProduct,
  PricingContract,
  ProductQuantity,
} from '@mortise/api-product/contract'
import {
  type Caller,
  type Money,
  sumMoney,
  type Transaction,
  timesMoney,
  withoutProblems,
} from '@mortise/module-sdk'
import { problem } from './module.ts'
import * as repository from './repository.ts'
import type { Adjustment } from './schemas.ts'

/** What a catalogue adds to purchases: names, prices and stock, as they are when it is made. */

/** An item as it is asked for. */
export type Wanted = Pick<repository.ItemRow, 'product' | 'quantity' | 'note'> & {
  /** Of the product that the line of the cart means. */
  readonly identity?: string | null
}
export type Sold = Omit<repository.ItemRow, 'id'> & { readonly taken: boolean }

/**
 * Takes the stock of all items, or none. Without a catalogue the items have no names and prices.
 * @param held what the buyer has reserved of it
 * @throws {Problem} `unknown-product`, `mixed-currency`, `out-of-stock`, `total-too-large`
 */
export function* sell(
  items: readonly Wanted[],
  held: readonly ProductQuantity[],
  catalog: CatalogContract | undefined,
): Transaction<{ sold: Sold[]; total: Money | null }> {
  if (!catalog) {
    return {
      sold: items.map((item) => ({ ...item, identity: null, name: null, unitPrice: null, taken: false })),
      total: null,
    }
  }
  const { products, short } = yield* catalog.take(items, held)
  const byId = new Map(products.map((product) => [product.product, product]))
  assertForSale(items, byId)
  assertOneCurrency(products)
  if (short.length > 0) {
    throw problem(
      'out-of-stock',
      'There is too little of the products in `short`, so nothing was purchased: order at most their `stock`.',
      { members: { short } },
    )
  }
  const sold = items.map((item) => {
    const { identity, name, price, stock } = byId.get(item.product) as CatalogProduct
    return { ...item, identity, name, unitPrice: price.amount, price, taken: stock !== null }
  })
  const lines = sold.map(({ price, quantity }) => timesMoney(price, quantity))
  const total = lines.some((line) => line === undefined) ? undefined : sumMoney(lines as Money[])
  return { sold, total: total ?? tooLarge() }
}

/**
 * The total with discounts, taxes and fees. These are null if no module provides them.
 * @throws {Problem} `total-too-large`
 */
export function* adjust(
  caller: Caller,
  sold: readonly Sold[],
  total: Money | null,
  pricing: PricingContract | undefined,
): Transaction<{ total: Money | null; adjustments: Adjustment[] | null }> {
  if (!pricing || !total) return { total, adjustments: null }
  const { currency } = total
  const lines = sold.map(({ product, quantity, unitPrice }) => {
    const price = { amount: unitPrice as number, currency }
    return { product, quantity, unitPrice: price, lineTotal: timesMoney(price, quantity) ?? tooLarge() }
  })
  const adjustments = [...(yield* withoutProblems('the contract pricing', pricing.adjust(caller, lines)))]
  const sum = sumMoney([total, ...adjustments.map(({ amount }) => amount)]) ?? tooLarge()
  if (sum.amount < 0) throw new Error(`the adjustments of the contract pricing make a total of ${sum.amount}`)
  return { total: sum, adjustments }
}

function tooLarge(): never {
  throw problem('total-too-large', 'The total is beyond 2^53 - 1 minor units, so nothing was purchased.')
}

/** @throws {Problem} `total-changed` */
export function assertExpected(total: Money | null, expected: Money | undefined): void {
  if (!expected || (expected.amount === total?.amount && expected.currency === total.currency)) return
  throw problem(
    'total-changed',
    'The total is now `total`, so nothing was purchased: show it to the buyer, and purchase with it as `expectedTotal`.',
    { members: { total } },
  )
}

/**
 * Gives back the stock that purchases have taken, at most once. Without a catalogue it is given back
 * when there is one again. Call it once in a transaction, after its other changes of purchases: two
 * transactions that lock purchases and products in turn could wait for each other.
 */
export function* giveBack(seqs: readonly number[], catalog: CatalogContract | undefined): Transaction<void> {
  if (seqs.length === 0) return
  if (!catalog) {
    yield* repository.insertReturns(seqs)
    return
  }
  const taken = yield* repository.returnItems(seqs)
  if (taken.length > 0) yield* catalog.giveBack(taken)
}

/** The most purchases that one run of `giveBackLate` takes. */
const RETURNED_AT_ONCE = 50

/** Gives back what ended without a catalogue. Returns whether there may be more. */
export function* giveBackLate(catalog: CatalogContract): Transaction<boolean> {
  const late = yield* repository.takeReturns(RETURNED_AT_ONCE)
  yield* giveBack(
    late.map(({ seq }) => seq),
    catalog,
  )
  return late.length === RETURNED_AT_ONCE
}

function assertForSale(items: readonly Wanted[], byId: ReadonlyMap<string, CatalogProduct>): void {
  const products = items.map(({ product }) => product).filter((product) => !byId.get(product)?.active)
  if (products.length === 0) return
  throw problem(
    'unknown-product',
    'The catalogue does not sell the products in `products`, so nothing was purchased: leave them out.',
    { members: { products } },
  )
}

function assertOneCurrency(products: readonly CatalogProduct[]): void {
  const currencies = [...new Set(products.map(({ price }) => price.currency))]
  if (currencies.length <= 1) return
  throw problem(
    'mixed-currency',
    'A purchase is in one currency, and these products have none in common, so nothing was purchased: purchase them apart.',
    { members: { currencies } },
  )
}
