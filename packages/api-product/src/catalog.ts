import { currentTime, type Money, type Transaction } from '@mortise/module-sdk'
import type { CatalogProduct, ProductQuantity, Taken } from './contract.ts'
import * as repository from './repository.ts'

/**
 * The contract `catalog`: see CatalogContract. `currency` is preferred to others that all products of
 * a call have in common.
 */

export function* resolveProducts(
  products: readonly string[],
  currency?: string,
): Transaction<CatalogProduct[]> {
  if (products.length === 0) return []
  return toCatalog(yield* repository.findCatalogRows(products), currency)
}

export function* takeStock(
  lines: readonly ProductQuantity[],
  held: readonly ProductQuantity[] = [],
  currency?: string,
  now = currentTime(),
): Transaction<Taken> {
  if (lines.length === 0) return { products: [], short: [] }
  const rows = yield* repository.lockCatalogRows([...sumOf(lines).keys()])
  const quantities = sumOf(ofSame(lines, rows))
  const before = sumOf(ofSame(held, rows))
  const meant = rows.filter(({ product }) => quantities.has(product))
  const products = toCatalog(meant, currency)
  const limited = products.flatMap(({ product, stock }) =>
    stock === null ? [] : [{ product, stock: stock + (before.get(product) ?? 0) }],
  )
  const short = limited.filter(({ product, stock }) => stock < (quantities.get(product) as number))
  if (short.length > 0) return { products, short }
  const changes = limited.map(({ product }) => {
    const change = (before.get(product) ?? 0) - (quantities.get(product) as number)
    return [product, change] as const
  })
  const taken = new Map(changes.filter(([, change]) => change !== 0))
  if (taken.size === 0) return { products, short }
  const changed = yield* repository.changeStock(taken, now)
  if (changed !== taken.size)
    throw new Error(`${taken.size} products had enough stock, and ${changed} gave it`)
  return { products, short }
}

export function* giveBackStock(lines: readonly ProductQuantity[], now = currentTime()): Transaction<void> {
  if (lines.length === 0) return
  const quantities = sumOf(ofSame(lines, yield* repository.lockProducts([...sumOf(lines).keys()])))
  if (quantities.size > 0) yield* repository.changeStock(quantities, now)
}

/** The lines without those that mean another product, which had the id before. */
function ofSame(
  lines: readonly ProductQuantity[],
  rows: readonly Pick<repository.CatalogRow, 'product' | 'identity'>[],
): ProductQuantity[] {
  const identities = new Map(rows.map(({ product, identity }) => [product, identity]))
  return lines.filter(({ product, identity }) => {
    const present = identities.get(product)
    return present !== undefined && (identity ?? present) === present
  })
}

/** The quantity of each product, in the order of their ids. */
function sumOf(lines: readonly ProductQuantity[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { product, quantity } of lines) sums.set(product, (sums.get(product) ?? 0) + quantity)
  return new Map([...sums.keys()].sort().map((product) => [product, sums.get(product) as number]))
}

type Parsed = [prices: readonly [Money, ...Money[]], images: readonly NonNullable<CatalogProduct['image']>[]]

function toCatalog(rows: readonly repository.CatalogRow[], preferred?: string): CatalogProduct[] {
  // One call for all: each takes longer than these few characters.
  const texts = rows.map(({ prices, images }) => `[${prices},${images}]`)
  const parsed: Parsed[] = JSON.parse(`[${texts.join()}]`)
  const currency = sharedCurrency(rows, parsed, preferred)
  return rows.map(({ product, identity, name, stock, active }, index) => {
    const [prices, [image = null]] = parsed[index] as Parsed
    return {
      product,
      identity,
      name,
      image,
      price: priceIn(currency, prices) ?? prices[0],
      active: active === 1,
      stock,
    }
  })
}

const priceIn = (currency: string | undefined, prices: readonly Money[]) =>
  prices.find((price) => price.currency === currency)

/**
 * The preferred currency if all have a price in it. Otherwise the first that all have, in the order of
 * the product whose id comes first: a cart and its purchase find the same.
 */
function sharedCurrency(
  rows: readonly repository.CatalogRow[],
  parsed: readonly Parsed[],
  preferred = '',
): string | undefined {
  const isShared = (currency: string) => parsed.every(([prices]) => priceIn(currency, prices))
  if (isShared(preferred)) return preferred
  const idAt = (index: number) => (rows[index] as repository.CatalogRow).product
  const first = rows.reduce((least, { product }, index) => (product < idAt(least) ? index : least), 0)
  return parsed[first]?.[0].find(({ currency }) => isShared(currency))?.currency
}
