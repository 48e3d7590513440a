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
import type { ImportError, ImportedProduct, NewProduct, Product, ProductChange } from './schemas.ts'
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
  assertCurrencies({ ...toProduct(row), ...change })
  const next = changedRow(row, change)
  if (next === undefined) return toProduct(row)
  const updated = yield* repository.updateProduct(next, now)
  yield* repository.replaceTerms(row.id, termsOfRow(updated))
  return yield* changed('changed', updated)
}

/** Undefined if the change changes nothing. */
function changedRow(row: repository.ProductRow, change: ProductChange): repository.ProductRow | undefined {
  const product = toProduct(row)
  const next = toRow({ ...product, ...change }, row)
  return JSON.stringify(next) === JSON.stringify(toRow(product, row)) ? undefined : next
}

/** A product of a file, and the line on which it begins. */
export interface ImportedLine {
  readonly line: number
  readonly product: ImportedProduct
}

/** What importing some lines has done, or would do. */
export interface ImportOutcome {
  created: number
  changed: number
  /** Lines whose products have changed since the version that they name. */
  readonly stale: ImportError[]
}

/**
 * Creates products, or changes those with the same ids. Fields that are left out stay as they are, and
 * the stock of a product that is there as well, unless `setsStock`. A line whose product has changed
 * since its version is left out.
 */
export function* importProducts(
  lines: readonly ImportedLine[],
  setsStock: boolean,
  now = currentTime(),
): Transaction<ImportOutcome> {
  // In the order of purchases, so that none waits for the other in a circle.
  if (lines.length > 0) yield* repository.lockProducts(lines.map(({ product }) => product.id))
  return yield* eachLine(lines, setsStock, now)
}

/** The lines that `importProducts` would leave out. */
export function* staleLines(lines: readonly ImportedLine[], setsStock: boolean): Transaction<ImportError[]> {
  const named = lines.filter(({ product }) => product.version !== undefined)
  return (yield* eachLine(named, setsStock)).stale
}

/** @param now without it nothing is written */
function* eachLine(
  lines: readonly ImportedLine[],
  setsStock: boolean,
  now?: number,
): Transaction<ImportOutcome> {
  const outcome: ImportOutcome = { created: 0, changed: 0, stale: [] }
  if (lines.length === 0) return outcome
  const found = yield* repository.findByIds(lines.map(({ product }) => product.id))
  const rows = new Map(found.map((row) => [row.id, row]))
  for (const { line, product } of lines) {
    const { id, version, stock, ...fields } = product
    const row = rows.get(id)
    const isStale = version !== undefined && row !== undefined && version !== row.version
    if (row === undefined || row.isDeleted === 1) {
      if (isStale) outcome.stale.push(staleError(line, version, 'deleted'))
      else {
        const given = { id, ...fields, ...(stock !== undefined && { stock }) }
        if (now !== undefined) yield* createProduct(given, now)
        outcome.created += 1
      }
      continue
    }
    const change = setsStock && stock !== undefined ? { ...fields, stock } : fields
    if (changedRow(row, change) === undefined) continue
    if (isStale) outcome.stale.push(staleError(line, version, 'changed'))
    else {
      if (now !== undefined) yield* applyChange(row, change, now)
      outcome.changed += 1
    }
  }
  return outcome
}

const staleError = (line: number, version: number, what: string): ImportError => ({
  line,
  pointer: '/version',
  detail: `must be the version that the product has: it was ${what} since version ${version}; export it again`,
})

export function* removeProduct(id: string, now = currentTime()): Transaction<Deleted> {
  const row = yield* find(id)
  yield* repository.deleteProduct(id, now)
  yield* repository.replaceTerms(id, [])
  yield* changed('deleted', row)
  return { id, deleted: true }
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
