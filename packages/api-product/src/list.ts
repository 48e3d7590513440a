import {
  type CursorPage,
  type Database,
  invalidRequest,
  type Page,
  type Transaction,
} from '@mortise/module-sdk'
import * as repository from './repository.ts'
import { MAX_AMOUNT, type Product, type ProductQuery } from './schemas.ts'
import { describe, toProduct } from './service.ts'
import {
  inGroup,
  inOrder,
  MOST_WORDS,
  type Order,
  placeOf,
  pricedFrom,
  type Range,
  withAttribute,
  withWords,
} from './terms.ts'

/**
 * The list of products. If few products are in one of the filters, they are read and sorted.
 * Otherwise the list is read in its order until the page is full, which is soon for most. A filter
 * costs a lookup for each product that is read, so lookups are counted: a request that needs many
 * continues beside the event loop, in short statements, and for a limited time.
 */

const FEW = 1_000
/** A total is exact up to here, and pages end here: with a filter each row costs more. */
const MOST_PAGED = { all: 10_000, filtered: 1_000 }
/** Lookups of a request on the event loop, and of one statement beside it. */
const LOOKUPS = { soon: 4_000, long: 10_000 }
/** How long a request may read beside the event loop, in milliseconds. */
const WITHIN = 2_000

type Listed = Page<Product> | CursorPage<Product>

export async function listProducts(database: Database, query: ProductQuery): Promise<Listed> {
  const soon = await database.snapshot(() => list(query, false))
  return (
    soon ?? ((await database.snapshot(() => list(query, true), { long: true, within: WITHIN })) as Listed)
  )
}

/** Undefined without `isLong`, if it needs too many lookups. */
function* list(query: ProductQuery, isLong: boolean): Transaction<Listed | undefined> {
  const { page, rpp, after } = query
  const { part, filters } = yield* selectionOf(query)
  const most = filters.length > 0 ? MOST_PAGED.filtered : MOST_PAGED.all
  const skipped = after === undefined ? (page - 1) * rpp : 0
  if (skipped >= most) throw tooFar(most, rpp)
  const wanted = after === undefined ? rpp : rpp + 1
  const found = yield* filters.length === 0
    ? listed(part, skipped, wanted, most)
    : filtered(part, filters, skipped, wanted, isLong)
  if (!found) return undefined
  const rows = yield* repository.findListed(found.places)
  const data = rows.slice(0, rpp).map(toProduct)
  if (after !== undefined) return { data, rpp, more: rows.length > rpp }
  const { count = most + 1 } = found
  return { data, page, rpp, total: Math.min(count, most), totalIsExact: count <= most }
}

interface Found {
  readonly places: readonly repository.Place[]
  /** The number of all places. Undefined if a count would read the whole list. */
  readonly count?: number
}

function* listed(part: repository.Part, skipped: number, wanted: number, most: number): Transaction<Found> {
  const count = yield* repository.countPlaces(part, most + 1)
  return { places: yield* repository.findPlaces(part, wanted, skipped), count }
}

function* filtered(
  part: repository.Part,
  filters: readonly Range[],
  skipped: number,
  wanted: number,
  isLong: boolean,
): Transaction<Found | undefined> {
  const most = isLong ? FEW : Math.min(FEW, Math.floor(LOOKUPS.soon / filters.length))
  const counts = yield* repository.countTerms(filters, most + 1)
  const least = Math.min(...counts)
  if (least > most) return most < FEW ? undefined : yield* walk(part, filters, skipped, wanted, isLong)
  const few = filters[counts.indexOf(least)] as Range
  const others = filters.filter((range) => range !== few)
  const places = yield* repository.findFew(part, few, others)
  return { places: places.slice(skipped, skipped + wanted), count: places.length }
}

/** Reads the list in its order, some places at a time. */
function* walk(
  part: repository.Part,
  filters: readonly Range[],
  skipped: number,
  wanted: number,
  isLong: boolean,
): Transaction<Found | undefined> {
  const size = Math.ceil((isLong ? LOOKUPS.long : LOOKUPS.soon) / filters.length)
  const places: repository.Place[] = []
  for (let { after } = part; ; ) {
    const [end] = yield* repository.findPlaces({ ...part, after }, 1, size - 1)
    const missing = skipped + wanted - places.length
    const some = yield* repository.findMatches({ ...part, after, end }, filters, missing)
    places.push(...some)
    if (some.length === missing) return { places: places.slice(skipped) }
    if (end === undefined) return { places: places.slice(skipped), count: places.length }
    if (!isLong) return undefined
    after = end
  }
}

function* selectionOf(
  query: ProductQuery,
): Transaction<{ part: repository.Part; filters: readonly Range[] }> {
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
  if (after === undefined) return { part: { listed, descending }, filters }
  const row = yield* repository.findOnceListed(after)
  const term = row && placeOf(describe(row), order, active, currency)
  if (term === undefined) throw unknownCursor()
  return { part: { listed, descending, after: { term, product: after } }, filters }
}

function filtersOf({ q, group, attributes }: ProductQuery): Range[] {
  return [
    ...(q === undefined ? [] : wordsOf(q)),
    ...(group === undefined ? [] : [inGroup(group)]),
    ...pairsOf(attributes).map(([name, value]) => withAttribute(name, value)),
  ]
}

/** @throws {Problem} `invalid-request` for too many words */
function wordsOf(q: string): Range[] {
  const ranges = withWords(q)
  if (ranges.length <= MOST_WORDS) return ranges
  throw invalidRequest({ parameter: 'q', detail: `must have at most ${MOST_WORDS} words` })
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
