import {
  currencyDigits,
  currentTime,
  type Deleted,
  invalidRequest,
  type Money,
  newId,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { emit, problem } from './module.ts'
import * as repository from './repository.ts'
import type { NewProduct, Product, ProductChange } from './schemas.ts'
import { termsOf } from './terms.ts'

/** The rules of products, which everybody sees and managers change. */

export function* createProduct(product: NewProduct, now = currentTime()): Transaction<Product> {
  assertCurrencies(product)
  const empty = {
    description: null,
    images: [],
    attributes: {},
    group: null,
    otherPrices: [],
    stock: null,
    active: true,
  }
  const { id, ...rest } = { ...empty, ...product }
  const made = { identity: newId('product'), version: 1, createdAt: now, updatedAt: now }
  const row = toRow({ id, ...rest }, made)
  const created = yield* repository.insertProduct(row)
  if (!created) throw problem('product-exists')
  yield* repository.replaceTerms(id, termsOfRow(created))
  return yield* changed('created', created)
}

export function* showProduct(id: string): Transaction<Product> {
  return toProduct(yield* find(id))
}

/** Values that are as they were are no change. */
export function* changeProduct(id: string, change: ProductChange, now = currentTime()): Transaction<Product> {
  return yield* applyChange(yield* find(id), change, now)
}

function* applyChange(row: repository.ProductRow, change: ProductChange, now: number): Transaction<Product> {
  const product = toProduct(row)
  const wanted = { ...product, ...change }
  assertCurrencies(wanted)
  const next = toRow(wanted, row)
  if (JSON.stringify(next) === JSON.stringify(toRow(product, row))) return product
  const updated = yield* repository.updateProduct(next, now)
  yield* repository.replaceTerms(row.id, termsOfRow(updated))
  return yield* changed('changed', updated)
}

/** Creates products, or changes those with the same ids. Fields that are left out stay as they are. */
export function* importProducts(
  products: readonly NewProduct[],
  now = currentTime(),
): Transaction<{ created: number; changed: number }> {
  const counts = { created: 0, changed: 0 }
  if (products.length === 0) return counts
  // In the order of purchases, so that none waits for the other in a circle.
  yield* repository.lockProducts(products.map(({ id }) => id))
  for (const { id, ...fields } of products) {
    const row = yield* repository.findProduct(id)
    if (!row) {
      yield* createProduct({ id, ...fields }, now)
      counts.created += 1
    } else if ((yield* applyChange(row, fields, now)).version > row.version) counts.changed += 1
  }
  return counts
}

export function* removeProduct(id: string, now = currentTime()): Transaction<Deleted> {
  const row = yield* find(id)
  yield* repository.deleteProduct(id, now)
  yield* repository.replaceTerms(id, [])
  yield* changed('deleted', row)
  return { id, deleted: true }
}

/** So many products are indexed in one transaction. */
const INDEXED_AT_ONCE = 50

/** Gives products with terms of older rules those of the present ones. Returns whether there may be more. */
export function* indexOutdated(): Transaction<boolean> {
  const rows = yield* repository.lockOutdated(INDEXED_AT_ONCE)
  for (const row of rows) yield* repository.replaceTerms(row.id, termsOfRow(row))
  if (rows.length > 0) yield* repository.setRules(rows.map(({ id }) => id))
  return rows.length === INDEXED_AT_ONCE
}

function* changed(
  change: 'created' | 'changed' | 'deleted',
  row: repository.ProductRow,
): Transaction<Product> {
  const product = toProduct(row)
  yield* emit('product.changed', { subject: product.id, data: { change, product } })
  return product
}

function* find(id: string): Transaction<repository.ProductRow> {
  const row = yield* repository.findProduct(id)
  if (row) return row
  throw problem('product-not-found')
}

/** @throws {Problem} `invalid-request` */
function assertCurrencies(product: Pick<NewProduct, 'price' | 'otherPrices'>): void {
  const invalid = invalidCurrencies(product)
  if (invalid.length > 0) throw invalidRequest(...invalid)
}

/** A code that no amount is counted in, and two prices in one currency. */
export function invalidCurrencies({ price, otherPrices = [] }: Pick<NewProduct, 'price' | 'otherPrices'>) {
  const seen = new Set<string>()
  return [price, ...otherPrices].flatMap(({ currency }, index) => {
    const pointer = index === 0 ? '/price/currency' : `/otherPrices/${index - 1}/currency`
    if (currencyDigits(currency) === undefined)
      return [{ pointer, detail: 'must be a currency of ISO 4217 that has minor units' }]
    if (seen.has(currency))
      return [{ pointer, detail: `must be another currency: the product has a price in ${currency}` }]
    seen.add(currency)
    return []
  })
}

type Kept = 'identity' | 'version' | 'createdAt' | 'updatedAt'

function toRow(
  product: Omit<Product, Kept>,
  { identity, version, createdAt, updatedAt }: Pick<repository.ProductRow, Kept>,
): repository.ProductRow {
  const { id, name, description, images, attributes, group, price, otherPrices, stock, active } = product
  return {
    id,
    identity,
    name,
    description,
    images: JSON.stringify(images),
    attributes: JSON.stringify(attributes),
    group,
    prices: JSON.stringify([price, ...otherPrices]),
    stock,
    active: active ? 1 : 0,
    version,
    createdAt,
    updatedAt,
  }
}

export function toProduct(row: repository.ProductRow): Product {
  const [price, ...otherPrices] = JSON.parse(row.prices) as [Money, ...Money[]]
  return {
    id: row.id,
    identity: row.identity,
    name: row.name,
    description: row.description,
    images: JSON.parse(row.images),
    attributes: JSON.parse(row.attributes),
    group: row.group,
    price,
    otherPrices,
    stock: row.stock,
    active: row.active === 1,
    version: row.version,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}

const termsOfRow = (row: repository.ProductRow) => termsOf(describe(row))

/** What the terms of a product come from. */
export const describe = (row: repository.ProductRow) => ({
  ...row,
  attributes: JSON.parse(row.attributes),
  prices: JSON.parse(row.prices),
  active: row.active === 1,
})
