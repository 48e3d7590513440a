import {
  byEngine,
  type Database,
  forUpdate,
  join,
  many,
  maybeOne,
  one,
  run,
  type Sql,
  send,
  sql,
} from '@mortise/module-sdk'
import type { Product } from './schemas.ts'
import type { Range } from './terms.ts'

/**
 * The statements of products. A deleted product keeps its row, without terms, so every search by id
 * has `deleted_at IS NULL`.
 */

type Plain = 'id' | 'identity' | 'name' | 'description' | 'group' | 'stock' | 'version'

/** A product as its table has it. */
export interface ProductRow extends Pick<Product, Plain> {
  /** JSON of `{ url, alt }[]`. */
  images: string
  /** JSON of an object. */
  attributes: string
  /** JSON of `Money[]`: the price, then those in other currencies. */
  prices: string
  active: number
  createdAt: number
  updatedAt: number
}

const columns = sql`product.id, product.identity, product.name, product.description, product.images, product.attributes,
  product.group_id AS "group", product.prices, product.stock, product.active, product.version,
  product.created_at AS "createdAt", product.updated_at AS "updatedAt"`

export const findProduct = (id: string) =>
  maybeOne<ProductRow>(sql`SELECT ${columns} FROM product WHERE id = ${id} AND deleted_at IS NULL`)

/** Also a deleted one: a list can be continued after it. */
export const findOnceListed = (id: string) =>
  maybeOne<ProductRow>(sql`SELECT ${columns} FROM product WHERE id = ${id}`)

/** With deleted ones, in any order. */
export const findByIds = (ids: readonly string[]) =>
  many<ProductRow & { isDeleted: number }>(sql`
    SELECT ${columns}, CASE WHEN product.deleted_at IS NULL THEN 0 ELSE 1 END AS "isDeleted"
    FROM product WHERE product.id ${amongThese(ids)}`)

/**
 * Undefined if there is a product with this id. One in place of a deleted product continues its
 * versions.
 */
export const insertProduct = (row: ProductRow) =>
  maybeOne<ProductRow>(sql`
    INSERT INTO product
      (id, identity, name, description, images, attributes, group_id, prices, stock, active, version, created_at, updated_at)
    VALUES (${row.id}, ${row.identity}, ${row.name}, ${row.description}, ${row.images}, ${row.attributes}, ${row.group},
      ${row.prices}, ${row.stock}, ${row.active}, ${row.version}, ${row.createdAt}, ${row.updatedAt})
    ON CONFLICT (id) DO UPDATE SET
      identity = excluded.identity, name = excluded.name, description = excluded.description, images = excluded.images,
      attributes = excluded.attributes, group_id = excluded.group_id, prices = excluded.prices,
      stock = excluded.stock, active = excluded.active, version = product.version + 1,
      created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = NULL
    WHERE product.deleted_at IS NOT NULL
    RETURNING ${columns}`)

/** Stores everything but the version, which rises. */
export const updateProduct = (row: ProductRow, now: number) =>
  one<ProductRow>(sql`
    UPDATE product SET
      name = ${row.name}, description = ${row.description}, images = ${row.images},
      attributes = ${row.attributes}, group_id = ${row.group}, prices = ${row.prices}, stock = ${row.stock},
      active = ${row.active}, version = version + 1, updated_at = ${now}
    WHERE id = ${row.id} RETURNING ${columns}`)

export const deleteProduct = (id: string, now: number) =>
  run(
    sql`UPDATE product SET deleted_at = ${now}, version = version + 1, updated_at = ${now} WHERE id = ${id}`,
    1,
  )

/** The products after this id, at most 200, in the order of the ids. */
export const allProducts = (database: Database, after: string) =>
  database.many<ProductRow>(
    sql`SELECT ${columns} FROM product WHERE id > ${after} AND deleted_at IS NULL ORDER BY id LIMIT 200`,
  )

/** Gives a product these terms, and no others. */
export function* replaceTerms(id: string, terms: readonly string[]) {
  const rows = terms.map((term) => sql`(${term}, ${id})`)
  const others = rows.length === 0 ? sql`TRUE` : sql`term NOT IN (${join(terms.map((term) => sql`${term}`))})`
  yield* send(sql`DELETE FROM product_term WHERE product = ${id} AND ${others}`)
  if (rows.length > 0)
    yield* send(sql`INSERT INTO product_term (term, product) VALUES ${join(rows)} ON CONFLICT DO NOTHING`)
}

/** A product on a list: the place is its term there. */
export interface Place {
  readonly term: string
  readonly product: string
}

/** A part of a list of products, in an order. */
export interface Part {
  /** The list, which its terms order. */
  readonly listed: Range
  readonly descending: boolean
  /** The place after which the part begins. */
  readonly after?: Place | undefined
  /** The place that it ends with. */
  readonly end?: Place | undefined
}

/** Of each range the number of its terms, at most `most`. */
export function* countTerms(ranges: readonly Range[], most: number) {
  const counts = ranges.map(
    (range, index) => sql`
      SELECT CAST(${index} AS INTEGER) AS place, count(*) AS count
      FROM (SELECT 1 FROM product_term WHERE ${isIn(sql`term`, range)} LIMIT ${most}) AS counted`,
  )
  const rows = yield* many<{ place: number; count: number }>(
    sql`${join(counts, ' UNION ALL ')} ORDER BY place`,
  )
  return rows.map(({ count }) => count)
}

export function* countPlaces(part: Part, most: number) {
  const { count } = yield* one<{ count: number }>(
    sql`SELECT count(*) AS count FROM (SELECT 1 FROM product_term AS place WHERE ${isWithin(part)} LIMIT ${most}) AS counted`,
  )
  return count
}

/** Reads `offset` places, and those that it finds. */
export const findPlaces = (part: Part, limit: number, offset = 0) =>
  many<Place>(sql`
    SELECT term, product FROM product_term AS place WHERE ${isWithin(part)}
    ORDER BY ${inOrder(part)} LIMIT ${limit} OFFSET ${offset}`)

/** The places of the products that have a term in each of the filters. Reads the part until there are so many. */
export const findMatches = (part: Part, filters: readonly Range[], limit: number) =>
  many<Place>(sql`
    SELECT term, product FROM product_term AS place
    WHERE ${join([isWithin(part), ...filters.map(has)], ' AND ')}
    ORDER BY ${inOrder(part)} LIMIT ${limit}`)

/** The same, for a filter with few products: reads these, and not the list. */
export const findFew = (part: Part, few: Range, filters: readonly Range[]) =>
  many<Place>(sql`
    SELECT term, product
    FROM (
      SELECT ${firstOf(sql`found.product`, part.listed)} AS term, found.product
      FROM (SELECT DISTINCT product FROM product_term WHERE ${isIn(sql`term`, few)}) AS found
    ) AS place
    WHERE ${join([sql`term IS NOT NULL`, isWithin(part), ...filters.map(has)], ' AND ')}
    ORDER BY ${inOrder(part)}`)

/** The products at these places, in their order. */
export function* findListed(places: readonly Place[]) {
  if (places.length === 0) return []
  const rows = yield* many<ProductRow>(
    sql`SELECT ${columns} FROM product WHERE id ${amongThese(places.map(({ product }) => product))}`,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return places.flatMap(({ product }) => byId.get(product) ?? [])
}

const inOrder = ({ descending }: Part) => (descending ? sql`term DESC, product DESC` : sql`term, product`)

/** Each end has one bound: with two an engine may begin at the wrong one, and read all places before. */
function isWithin({ listed, descending, after, end }: Part): Sql {
  const beyond = (operator: Sql, { term, product }: Place) =>
    sql`(place.term, place.product) ${operator} (${term}, ${product})`
  const [low, high] = descending ? [end, after] : [after, end]
  const isFirst = low === undefined || low.term < listed.from
  const isLast = high === undefined || high.term >= listed.to
  const least = isFirst ? sql`place.term >= ${listed.from}` : beyond(descending ? sql`>=` : sql`>`, low)
  const most = isLast ? sql`place.term < ${listed.to}` : beyond(descending ? sql`<` : sql`<=`, high)
  return sql`${least} AND ${most}`
}

/**
 * Neither engine makes a join of it, which may read the whole range: PostgreSQL plans without knowing
 * how large it is.
 */
const has = (range: Range) => sql`${firstOf(sql`place.product`, range)} IS NOT NULL`

/** The first term of a product in a range, or null. */
const firstOf = (product: Sql, range: Range) => sql`(
  SELECT min(own.term) FROM product_term AS own WHERE own.product = ${product} AND ${isIn(sql`own.term`, range)})`

const isIn = (term: Sql, { from, to }: Range) => sql`${term} >= ${from} AND ${term} < ${to}`

/** A product as other modules use it. */
export interface CatalogRow {
  product: string
  identity: string
  name: string
  /** JSON, as in a ProductRow. */
  images: string
  prices: string
  stock: number | null
  active: number
}

/** An array of PostgreSQL, whose literals have the quotes and escapes of JSON, as no id has a control character. */
const arrayOf = (ids: readonly string[]) => `{${JSON.stringify(ids).slice(1, -1)}}`

/** One statement for any number of ids. */
const amongThese = (ids: readonly string[]) =>
  byEngine({
    sqlite: sql`IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
    postgres: sql`= ANY(CAST(${arrayOf(ids)} AS TEXT[]))`,
  })

/** Every cart reads them. In the order of the ids, as PostgreSQL locks them; on SQLite as they are named. */
const resolved = (ids: readonly string[]) =>
  byEngine({
    sqlite: sql`
      SELECT product.id AS product, identity, name, images, prices, stock, active
      FROM json_each(${JSON.stringify(ids)}) AS named CROSS JOIN product ON product.id = named.value
      WHERE deleted_at IS NULL`,
    postgres: sql`
      SELECT id AS product, identity, name, images, prices, stock, active
      FROM product WHERE id = ANY(CAST(${arrayOf(ids)} AS TEXT[])) AND deleted_at IS NULL ORDER BY id`,
  })

export const findCatalogRows = (ids: readonly string[]) => many<CatalogRow>(resolved(ids))

/** Every transaction locks products in the order of their ids, so that none waits for another in a circle. */
export const lockCatalogRows = (ids: readonly string[]) =>
  many<CatalogRow>(sql`${resolved(ids)} ${forUpdate}`)

/** Also deleted ones: an import may make others with their ids. */
export const lockProducts = (ids: readonly string[]) =>
  many<Pick<CatalogRow, 'product' | 'identity'>>(sql`
    SELECT id AS product, identity FROM product WHERE id ${amongThese(ids)} ORDER BY id ${forUpdate}`)

/**
 * Adds to the stock, or takes from it, unless it is unlimited or would fall below zero. Returns the
 * number of products. They are found by their ids first: a join with the changes alone reads all
 * products of a small catalogue on PostgreSQL, so that all purchases would conflict.
 */
export function changeStock(changes: ReadonlyMap<string, number>, now: number) {
  const json = JSON.stringify(Object.fromEntries(changes))
  const rows = byEngine({
    sqlite: sql`json_each(${json})`,
    postgres: sql`(SELECT key, CAST(value AS BIGINT) AS value FROM json_each_text(CAST(${json} AS JSON)))`,
  })
  const changed = sql`
    UPDATE product SET stock = stock + change.value, version = version + 1, updated_at = ${now}
    FROM ${rows} AS change
    WHERE product.id ${amongThese([...changes.keys()])} AND product.id = change.key
      AND product.stock + change.value >= 0`
  return run(changed, changes.size)
}
