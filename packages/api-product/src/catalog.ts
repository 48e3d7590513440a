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
  return toCatalog(yield* repository.findCatalogRows(sorted(products)), currency)
}

export function* takeStock(
  lines: readonly ProductQuantity[],
  held: readonly ProductQuantity[] = [],
  currency?: string,
  now = currentTime(),
): Transaction<Taken> {
  const quantities = sumOf(lines)
  const before = sumOf(held)
  if (quantities.size === 0) return { products: [], short: [] }
  const products = toCatalog(yield* repository.lockCatalogRows([...quantities.keys()]), currency)
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
  const quantities = sumOf(lines)
  if (quantities.size === 0) return
  yield* repository.lockProducts([...quantities.keys()])
  yield* repository.changeStock(quantities, now)
}

/** The quantity of each product, in the order of their ids. */
function sumOf(lines: readonly ProductQuantity[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { product, quantity } of lines) sums.set(product, (sums.get(product) ?? 0) + quantity)
  return new Map(sorted([...sums.keys()]).map((product) => [product, sums.get(product) as number]))
}

const sorted = (products: readonly string[]) => [...new Set(products)].sort()

function toCatalog(rows: readonly repository.CatalogRow[], preferred?: string): CatalogProduct[] {
  const found = rows.map((row) => ({ ...row, prices: JSON.parse(row.prices) as [Money, ...Money[]] }))
  const shared = sharedCurrencies(found.map(({ prices }) => prices))
  const currency = shared.find((one) => one === preferred) ?? shared[0]
  return found.map(({ product, name, images, prices, stock, active }) => ({
    product,
    name,
    image: JSON.parse(images)[0] ?? null,
    price: prices.find((price) => price.currency === currency) ?? prices[0],
    active: active === 1,
    stock,
  }))
}

/** The currencies that all have a price in, in the order of the first product. */
function sharedCurrencies([first = [], ...others]: readonly (readonly Money[])[]): string[] {
  return first
    .map(({ currency }) => currency)
    .filter((currency) => others.every((prices) => prices.some((price) => price.currency === currency)))
}
