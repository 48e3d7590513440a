import {
  byEngine,
  join,
  many,
  maybeOne,
  one,
  RankedList,
  type Row,
  run,
  type Sql,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { PurchaseItem, PurchaseSummary } from './schemas.ts'
import { type Status, statuses } from './status.ts'

/**
 * The statements of purchases. Each statement names the owner, or a purchase that the same
 * transaction found by its owner, unless the caller may read all. A deleted purchase keeps its row,
 * so every search has `deleted_at IS NULL`. Every change of a status or of `deleted_at` also
 * updates the ranked list.
 */

/** `seq` is the position in the list of all purchases. It never leaves the module. */
export type PurchaseRow = Row<Omit<PurchaseSummary, 'owner' | 'total'>> & { seq: number; owner: string }

export type ItemRow = Pick<PurchaseItem, 'id' | 'product' | 'quantity'>

export interface PurchaseWithItems extends PurchaseRow {
  items: ItemRow[]
}

/** Stands for all owners. No caller id has this form. */
export const EVERYONE = '*'

export interface ListQuery {
  /** Without it: all statuses. */
  readonly statuses?: readonly Status[] | undefined
  readonly page: number
  readonly rpp: number
  /** The newest `seq` on the list. */
  readonly until?: number | undefined
}

export interface ListPage {
  rows: PurchaseRow[]
  total: number
  until: number
}

const columns = sql`seq, id, owner, status, item_count AS "itemCount", total_quantity AS "totalQuantity",
  version, created_at AS "createdAt", updated_at AS "updatedAt"`

export const everyones = new RankedList('purchase', { list: 'status', where: sql`deleted_at IS NULL` })

/** `owner` may be EVERYONE, here and below. */
export function* findPurchase(id: string, owner: string): Transaction<PurchaseWithItems | undefined> {
  const rows = yield* many<PurchaseRow & { itemId: string; product: string; quantity: number }>(sql`
    SELECT purchase.seq, purchase.id, purchase.owner, purchase.status, purchase.version,
      purchase.item_count AS "itemCount", purchase.total_quantity AS "totalQuantity",
      purchase.created_at AS "createdAt", purchase.updated_at AS "updatedAt",
      item.id AS "itemId", item.product, item.quantity
    FROM purchase JOIN purchase_item AS item ON item.purchase_seq = purchase.seq
    WHERE purchase.id = ${id} AND purchase.deleted_at IS NULL
      AND (purchase.owner = ${owner} OR ${owner} = ${EVERYONE})
    ORDER BY item.position`)
  const [first] = rows
  if (!first) return undefined
  const items = rows.map(({ itemId, product, quantity }) => ({ id: itemId, product, quantity }))
  return { ...first, items }
}

export function* insertPurchase(purchase: Omit<PurchaseWithItems, 'seq'>): Transaction<void> {
  const seq = yield* everyones.next()
  yield* run(sql`
    INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
    VALUES (${seq}, ${purchase.id}, ${purchase.owner}, ${purchase.status}, ${purchase.itemCount},
      ${purchase.totalQuantity}, ${purchase.version}, ${purchase.createdAt}, ${purchase.updatedAt})`)
  const items = purchase.items.map(
    ({ id, product, quantity }, index) => sql`(${seq}, ${index}, ${id}, ${product}, ${quantity})`,
  )
  yield* run(
    sql`INSERT INTO purchase_item (purchase_seq, position, id, product, quantity) VALUES ${join(items)}`,
  )
  yield* everyones.add(seq, purchase.status)
}

/** Changes the status of a purchase that this transaction found. */
export function* updateStatus<Purchase extends PurchaseRow>(
  purchase: Purchase,
  status: Status,
  now: number,
): Transaction<Purchase> {
  const { seq, version } = purchase
  yield* run(sql`
    UPDATE purchase SET status = ${status}, version = ${version + 1}, updated_at = ${now} WHERE seq = ${seq}`)
  yield* everyones.move(seq, purchase.status, status)
  return { ...purchase, status, version: version + 1, updatedAt: now }
}

/** Marks a purchase that this transaction found as deleted. No response shows it again. */
export function* deletePurchase({ seq, status, version }: PurchaseRow, now: number): Transaction<void> {
  yield* run(sql`
    UPDATE purchase SET deleted_at = ${now}, version = ${version + 1}, updated_at = ${now} WHERE seq = ${seq}`)
  yield* everyones.remove(seq, status)
}

/** Transfers all purchases of an owner to another, except deleted ones. */
export function* movePurchases(
  from: string,
  to: string,
  now: number,
): Transaction<Pick<PurchaseRow, 'id' | 'version'>[]> {
  return yield* many(sql`
    UPDATE purchase SET owner = ${to}, version = version + 1, updated_at = ${now}
    WHERE owner = ${from} AND deleted_at IS NULL
    RETURNING id, version`)
}

/** Newest first. Read it in a snapshot. */
export function* listPurchases(owner: string, query: ListQuery): Transaction<ListPage> {
  if (owner !== EVERYONE) return yield* listOf(owner, query)
  return yield* everyones.page<PurchaseRow>({ ...query, lists: query.statuses ?? statuses, columns })
}

/** One owner's list is short: counting and skipping rows in their index is fast enough. */
function* listOf(owner: string, { statuses: chosen, page, rpp, until }: ListQuery): Transaction<ListPage> {
  const list = onList(owner, chosen)
  const newest = until ?? (yield* newestOf(owner))
  const { total } = yield* one<{ total: number }>(
    sql`SELECT count(*) AS total FROM purchase WHERE ${list} AND seq <= ${newest}`,
  )
  const rows = yield* many<PurchaseRow>(sql`
    SELECT ${columns} FROM purchase WHERE ${list} AND seq <= ${newest}
    ORDER BY seq DESC LIMIT ${rpp} OFFSET ${(page - 1) * rpp}`)
  return { rows, total, until: newest }
}

/** At most `limit` rows after a position in the list, newest first. */
export function* listAfter(
  owner: string,
  { statuses: chosen, seq, limit }: { statuses?: readonly Status[] | undefined; seq: number; limit: number },
): Transaction<PurchaseRow[]> {
  if (owner === EVERYONE) {
    return yield* everyones.after({ lists: chosen ?? statuses, position: seq, limit, columns })
  }
  return yield* many<PurchaseRow>(sql`
    SELECT ${columns} FROM purchase WHERE ${onList(owner, chosen)} AND seq < ${seq} ORDER BY seq DESC LIMIT ${limit}`)
}

/**
 * SQLite rates the index on status as good as the one on owner, which selects far fewer rows. `+`
 * keeps SQLite from using it.
 */
const status = byEngine({ sqlite: sql`+status`, postgres: sql`status` })

function onList(owner: string, chosen: readonly Status[] | undefined): Sql {
  const all = sql`owner = ${owner} AND deleted_at IS NULL`
  return chosen ? sql`${all} AND ${status} IN (${join(chosen.map((one) => sql`${one}`))})` : all
}

function* newestOf(owner: string): Transaction<number> {
  const { newest } = yield* one<{ newest: number }>(sql`
    SELECT coalesce(max(seq), 0) AS newest FROM purchase WHERE owner = ${owner} AND deleted_at IS NULL`)
  return newest
}

/** The position of a purchase in the list, even of a deleted one. */
export function* findSeq(id: string, owner: string): Transaction<number | undefined> {
  const found = yield* maybeOne<{ seq: number }>(
    sql`SELECT seq FROM purchase WHERE id = ${id} AND (owner = ${owner} OR ${owner} = ${EVERYONE})`,
  )
  return found?.seq
}

/** The purchase at a position in the list. */
export function* findId(seq: number): Transaction<string | undefined> {
  const found = yield* maybeOne<{ id: string }>(sql`SELECT id FROM purchase WHERE seq = ${seq}`)
  return found?.id
}

/** The oldest purchases with a status, at most `limit`. */
export function* oldest(status: Status, limit: number): Transaction<PurchaseRow[]> {
  return yield* many<PurchaseRow>(sql`
    SELECT ${columns} FROM purchase WHERE status = ${status} AND deleted_at IS NULL ORDER BY seq LIMIT ${limit}`)
}
