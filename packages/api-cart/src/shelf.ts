import type { CatalogContract, CatalogProduct, PricingContract } from '@mortise/api-product/contract'
import {
  type Caller,
  type Money,
  sumMoney,
  type Transaction,
  timesMoney,
  timestamp,
  withoutProblems,
} from '@mortise/module-sdk'
import type { CartLine, CartQuantity } from './contract.ts'
import { problem } from './module.ts'
import * as repository from './repository.ts'
import type { Cart, CartItem, Warning } from './schemas.ts'

/** What a catalogue knows of products in a cart. Without a catalogue there is no shelf. */

/** The contracts that prices and stock come from; undefined if none provides them. */
export interface Shop {
  readonly catalog?: CatalogContract | undefined
  readonly pricing?: PricingContract | undefined
  /** 0: carts reserve nothing. */
  readonly reservationMinutes?: number
}

/** The catalogue that carts reserve stock of; undefined if they reserve none. */
export const reserving = ({ catalog, reservationMinutes = 0 }: Shop) =>
  reservationMinutes > 0 ? catalog : undefined

/** The products that exist, by their ids. */
export type Shelf = ReadonlyMap<string, CatalogProduct> | undefined

/** Whether two mean the same product: one without an identity means the one that has the id. */
export function isSame(one: Meant, other: Meant): boolean {
  const identity = one.identity ?? other.identity ?? null
  return one.product === other.product && (other.identity ?? identity) === identity
}

interface Meant {
  readonly product: string
  readonly identity?: string | null
}

/** One statement for all lines. The product of a line is unknown if another one has got its id. */
export function* shelfFor(lines: readonly Meant[], catalog: CatalogContract | undefined): Transaction<Shelf> {
  if (!catalog) return undefined
  const products = lines.length === 0 ? [] : yield* catalog.resolve(lines.map(({ product }) => product))
  const found = new Map(products.map((product) => [product.product, product]))
  for (const line of lines) {
    const product = found.get(line.product)
    if (product && !isSame(line, product)) found.delete(line.product)
  }
  return found
}

/** What the caller's cart has reserved. */
export function* reservedBy(caller: Caller, shop: Shop, now: number): Transaction<repository.Reserved[]> {
  return reserving(shop) ? yield* repository.findReservation(caller.id, now) : []
}

/** The reservation as clients see it. */
export function shownReservation(reserved: readonly repository.Reserved[]) {
  const [first] = reserved
  if (!first) return {}
  const items = reserved.map(({ product, quantity }) => ({ product, quantity }))
  return { reservation: { expiresAt: timestamp(first.expiresAt), items } }
}

/** @throws {Problem} `unknown-product` if the catalogue does not sell one of the products */
export function assertForSale(lines: readonly Pick<CartQuantity, 'product'>[], shelf: Shelf): void {
  if (!shelf) return
  const products = lines.map(({ product }) => product).filter((product) => !shelf.get(product)?.active)
  if (products.length === 0) return
  throw problem(
    'unknown-product',
    'The catalogue does not sell the products in `products`, so nothing was changed: leave them out.',
    { members: { products } },
  )
}

/**
 * What a line shows of its product.
 * @param reserved what the cart has reserved: it is no part of the stock, and the cart can have it
 */
export function shownAs(line: CartLine, shelf: Shelf, reserved: readonly CartLine[]) {
  if (!shelf) return withoutCatalogue
  const { product, quantity } = line
  const found = shelf.get(product)
  if (!found) return unknown
  const held = reserved.find((one) => isSame(one, line))?.quantity ?? 0
  return {
    name: found.name,
    image: found.image,
    unitPrice: found.price,
    lineTotal: timesMoney(found.price, quantity) ?? null,
    warnings: warningsOf(found, quantity, held),
  }
}

const withoutCatalogue = { name: null, unitPrice: null, lineTotal: null }
const unknown = { ...withoutCatalogue, image: null, warnings: [{ code: 'unknown-product' as const }] }

function warningsOf({ active, stock }: CatalogProduct, quantity: number, reserved: number): Warning[] {
  const available = stock === null ? quantity : stock + reserved
  return [
    ...(active ? [] : [{ code: 'inactive-product' as const }]),
    ...(available < quantity ? [{ code: 'out-of-stock' as const, available }] : []),
  ]
}

/** Null if there is none: a line has no total, or they are in several currencies. */
export function totalOf(items: readonly CartItem[]): Money | null {
  const totals = items.flatMap(({ lineTotal }) => lineTotal ?? [])
  const [first] = totals
  if (!first || totals.length < items.length) return null
  return totals.every(({ currency }) => currency === first.currency) ? (sumMoney(totals) ?? null) : null
}

/** The cart with its discounts, taxes and fees, if it has a total. */
export function* adjusted(caller: Caller, cart: Cart, { pricing }: Shop): Transaction<Cart> {
  if (!pricing || !cart.total) return cart
  const lines = cart.items.map(({ product, quantity, unitPrice, lineTotal }) => ({
    product,
    quantity,
    unitPrice: unitPrice as Money,
    lineTotal: lineTotal as Money,
  }))
  const adjustments = [...(yield* withoutProblems('the contract pricing', pricing.adjust(caller, lines)))]
  const total = sumMoney([cart.total, ...adjustments.map(({ amount }) => amount)]) ?? null
  return { ...cart, adjustments, total }
}
