import { type CursorPage, invalidRequest, type Page, type Transaction } from '@mortise/module-sdk'
import * as repository from './repository.ts'
import { MAX_AMOUNT, type Product, type ProductQuery } from './schemas.ts'
import { describe, toProduct } from './service.ts'
import {
  inGroup,
  inOrder,
  type Order,
  placeOf,
  pricedFrom,
  type Range,
  withAttribute,
  withWords,
} from './terms.ts'

/**
 * The list of products. If few products are in one of the filters, they are read and sorted.
 * Otherwise the list is read in its order until the page is full, which is soon.
 */

const FEW = 1_000
/** A total is exact up to here, and pages end here: with a filter each row costs more. */
const MOST_PAGED = { all: 10_000, filtered: 1_000 }

/** Read it in a snapshot. */
export function* listProducts(query: ProductQuery): Transaction<Page<Product> | CursorPage<Product>> {
  const selection = yield* selectionOf(query)
  const { page, rpp, after } = query
  if (after !== undefined) {
    const rows = yield* repository.findProducts(selection, rpp + 1, 0)
    return { data: rows.slice(0, rpp).map(toProduct), rpp, more: rows.length > rpp }
  }
  const most = selection.filters.length > 0 ? MOST_PAGED.filtered : MOST_PAGED.all
  const skipped = (page - 1) * rpp
  if (skipped >= most) throw tooFar(most, rpp)
  // Where many products are in each filter, a count would read the whole list.
  const isCounted = selection.filters.length === 0 || selection.narrow !== undefined
  const count = isCounted ? yield* repository.countProducts(selection, most + 1) : most + 1
  const rows = yield* repository.findProducts(selection, rpp, skipped)
  return { data: rows.map(toProduct), page, rpp, total: Math.min(count, most), totalIsExact: count <= most }
}

function* selectionOf(query: ProductQuery): Transaction<repository.Selection> {
  const { currency, minPrice = 0, maxPrice = MAX_AMOUNT, after } = query
  const active = query.active === 'true'
  const descending = query.sort.startsWith('-')
  const order = query.sort.slice(descending ? 1 : 0) as Order
  assertCurrency(query, order)
  const prices = currency === undefined ? [] : [pricedFrom(active, currency, minPrice, maxPrice)]
  const [listed, filters] =
    order === 'price'
      ? [prices[0] as Range, filtersOf(query)]
      : [inOrder(order, active), [...prices, ...filtersOf(query)]]
  const selection = { listed, descending, filters, narrow: yield* narrowest(filters) }
  if (after === undefined) return selection
  const row = yield* repository.findOnceListed(after)
  const term = row && placeOf(describe(row), order, active, currency)
  if (term === undefined) throw unknownCursor()
  return { ...selection, after: { term, id: after } }
}

function filtersOf({ q, group, attributes }: ProductQuery): Range[] {
  return [
    ...(q === undefined ? [] : withWords(q)),
    ...(group === undefined ? [] : [inGroup(group)]),
    ...pairsOf(attributes).map(([name, value]) => withAttribute(name, value)),
  ]
}

/**
 * The names and values of a text that the schema has validated: `roast:dark,size:1kg`.
 * @throws {Problem} `invalid-request` for a name that is there twice: no product has two values of it
 */
function pairsOf(attributes = ''): [name: string, value: string][] {
  const plain = (text: string) => text.replace(/\\(.)/gu, '$1')
  const pairs = Array.from(
    attributes.matchAll(/((?:\\.|[^\\:])+):((?:\\.|[^\\,])+),?/gu),
    ([, name, value]) => {
      return [plain(name as string), plain(value as string)] as [string, string]
    },
  )
  if (new Set(pairs.map(([name]) => name)).size < pairs.length)
    throw invalidRequest({ parameter: 'attributes', detail: 'must have each name once' })
  return pairs
}

/** The filter with the fewest products, if they are few. */
function* narrowest(filters: readonly Range[]): Transaction<Range | undefined> {
  if (filters.length === 0) return undefined
  const counts = yield* repository.countTerms(filters, FEW + 1)
  const least = Math.min(...counts)
  return least > FEW ? undefined : filters[counts.indexOf(least)]
}

function assertCurrency({ currency, minPrice, maxPrice }: ProductQuery, order: Order): void {
  if (currency !== undefined) return
  const needs = (parameter: string) => ({
    parameter,
    detail: 'needs `currency`: amounts in several have no order',
  })
  const invalid = [
    ...(order === 'price' ? [needs('sort')] : []),
    ...(minPrice === undefined ? [] : [needs('minPrice')]),
    ...(maxPrice === undefined ? [] : [needs('maxPrice')]),
  ]
  if (invalid.length > 0) throw invalidRequest(...invalid)
}

const unknownCursor = () =>
  invalidRequest({
    parameter: 'after',
    detail: 'must be the id of a product that this list had: leave it out to begin again',
  })

const tooFar = (most: number, rpp: number) =>
  invalidRequest({
    parameter: 'page',
    detail: `must be ${Math.ceil(most / rpp)} or less: pages end at row ${most}. Read on with \`after\` and the last id, without \`page\``,
  })
