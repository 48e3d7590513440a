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

/** Of a product from before there were identities it is the id. */
const identity = sql`COALESCE(product.identity, product.id) AS identity`
const columns = sql`product.id, ${identity}, product.name, product.description, product.images, product.attributes,
  product.group_id AS "group", product.prices, product.stock, product.active, product.version,
  product.created_at AS "createdAt", product.updated_at AS "updatedAt"`

export const findProduct = (id: string) =>
  maybeOne<ProductRow>(sql`SELECT ${columns} FROM product WHERE id = ${id} AND deleted_at IS NULL`)

/** Also a deleted one: a list can be continued after it. */
export const findOnceListed = (id: string) =>
  maybeOne<ProductRow>(sql`SELECT ${columns} FROM product WHERE id = ${id}`)

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

export function* replaceTerms(id: string, before: readonly string[], after: readonly string[]) {
  const without = (terms: readonly string[], others: readonly string[]) => {
    const known = new Set(others)
    return terms.filter((term) => !known.has(term))
  }
  const [gone, come] = [without(before, after), without(after, before)]
  if (gone.length > 0) {
    const terms = join(gone.map((term) => sql`${term}`))
    yield* send(sql`DELETE FROM product_term WHERE product = ${id} AND term IN (${terms})`)
  }
  if (come.length > 0) {
    const rows = join(come.map((term) => sql`(${term}, ${id})`))
    yield* send(sql`INSERT INTO product_term (term, product) VALUES ${rows}`)
  }
}

/** A part of a list of products. */
export interface Selection {
  /** The list, which its terms order. */
  readonly listed: Range
  readonly descending: boolean
  /** A product has a term in each. */
  readonly filters: readonly Range[]
  /** The one of the filters that few products are in: they are read, and not the whole list. */
  readonly narrow?: Range | undefined
  /** The place on the list after which the part begins. */
  readonly after?: { readonly term: string; readonly id: string } | undefined
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

export function* countProducts(selection: Selection, most: number) {
  const { count } = yield* one<{ count: number }>(
    sql`SELECT count(*) AS count FROM (SELECT 1 FROM (${placesOf(selection)}) AS place LIMIT ${most}) AS counted`,
  )
  return count
}

export function findProducts(selection: Selection, limit: number, offset: number) {
  const direction = selection.descending ? sql`DESC` : sql`ASC`
  const order = sql`ORDER BY place.term ${direction}, place.product ${direction}`
  return many<ProductRow>(sql`
    SELECT ${columns}
    FROM (SELECT term, product FROM (${placesOf(selection)}) AS place ${order} LIMIT ${limit} OFFSET ${offset}) AS place
    JOIN product ON product.id = place.product ${order}`)
}

/** The products of a selection, each with its place on the list. */
function placesOf({ listed, filters, narrow, after, descending }: Selection): Sql {
  const beyond = descending ? sql`<` : sql`>`
  const others = filters.filter((range) => range !== narrow)
  const conditions = [
    sql`place.term IS NOT NULL`,
    ...(after ? [sql`(place.term, place.product) ${beyond} (${after.term}, ${after.id})`] : []),
    ...others.map((range) => sql`${firstOf(sql`place.product`, range)} IS NOT NULL`),
  ]
  const all = narrow
    ? sql`SELECT ${firstOf(sql`found.product`, listed)} AS term, found.product
        FROM (SELECT DISTINCT product FROM product_term WHERE ${isIn(sql`term`, narrow)}) AS found`
    : sql`SELECT term, product FROM product_term WHERE ${isIn(sql`term`, listed)}`
  return sql`SELECT place.term, place.product FROM (${all}) AS place WHERE ${join(conditions, ' AND ')}`
}

/**
 * The first term of a product in a range, or null. Neither engine makes a join of it, which may read
 * the whole range: PostgreSQL plans without knowing how large it is.
 */
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
      SELECT product.id AS product, ${identity}, name, images, prices, stock, active
      FROM json_each(${JSON.stringify(ids)}) AS named CROSS JOIN product ON product.id = named.value
      WHERE deleted_at IS NULL`,
    postgres: sql`
      SELECT id AS product, ${identity}, name, images, prices, stock, active
      FROM product WHERE id = ANY(CAST(${arrayOf(ids)} AS TEXT[])) AND deleted_at IS NULL ORDER BY id`,
  })

export const findCatalogRows = (ids: readonly string[]) => many<CatalogRow>(resolved(ids))

/** Every transaction locks products in the order of their ids, so that none waits for another in a circle. */
export const lockCatalogRows = (ids: readonly string[]) =>
  many<CatalogRow>(sql`${resolved(ids)} ${forUpdate}`)

/** Also deleted ones: an import may make others with their ids. */
export const lockProducts = (ids: readonly string[]) =>
  many<Pick<CatalogRow, 'product' | 'identity'>>(sql`
    SELECT id AS product, ${identity} FROM product WHERE id ${amongThese(ids)} ORDER BY id ${forUpdate}`)

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
