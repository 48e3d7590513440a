import {
  byEngine,
  type CursorPage,
  join,
  type ListQuery,
  many,
  type Page,
  PagedList,
  type Row,
  type RowValues,
  type Sql,
  send,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { PurchaseItem, PurchaseSummary } from './schemas.ts'
import { type Status, statuses } from './status.ts'

/**
 * The statements of purchases. Each statement names the owner, or a purchase that the same
 * transaction found by its owner, unless the caller may read all. A deleted purchase keeps its row,
 * so every search has `deleted_at IS NULL`.
 */

/** `seq` is the position in the list of all purchases. It never leaves the module. */
export type PurchaseRow = Row<Omit<PurchaseSummary, 'owner' | 'total'>> & { seq: number; owner: string }

export type ItemRow = Pick<PurchaseItem, 'id' | 'product' | 'quantity' | 'note'>

export interface PurchaseWithItems extends PurchaseRow {
  items: ItemRow[]
}

/** Stands for all owners. No caller id has this form. */
export const EVERYONE = '*'

const columns = sql`purchase.seq, purchase.id, purchase.owner, purchase.status, purchase.version,
  purchase.item_count AS "itemCount", purchase.total_quantity AS "totalQuantity",
  purchase.created_at AS "createdAt", purchase.updated_at AS "updatedAt"`

const purchases = new PagedList<PurchaseRow>('purchase', {
  columns,
  position: 'seq',
  where: sql`deleted_at IS NULL`,
  walks: true,
})

/** `owner` may be EVERYONE, here and below. */
const ownedBy = (owner: string): RowValues => (owner === EVERYONE ? {} : { owner })

export function* findPurchase(id: string, owner: string): Transaction<PurchaseWithItems | undefined> {
  const rows = yield* many<PurchaseRow & ItemRow & { itemId: string }>(sql`
    SELECT ${columns}, item.id AS "itemId", item.product, item.quantity, item.note
    FROM purchase JOIN purchase_item AS item ON item.purchase_seq = purchase.seq
    WHERE purchase.id = ${id} AND purchase.deleted_at IS NULL
      AND (purchase.owner = ${owner} OR ${owner} = ${EVERYONE})
    ORDER BY item.position`)
  const [first] = rows
  if (!first) return undefined
  const items = rows.map(({ itemId, product, quantity, note }) => ({ id: itemId, product, quantity, note }))
  return { ...first, items }
}

/**
 * Inserts a purchase at the next `seq`, with its items. On PostgreSQL this is one statement: a search
 * for the purchase would read the newest page of an index, which everyone who purchases writes, so
 * all of them would conflict.
 */
export function* insertPurchase(purchase: Omit<PurchaseWithItems, 'seq'>): Transaction<void> {
  const names = sql`id, owner, status, item_count, total_quantity, version, created_at, updated_at`
  const values = sql`${purchase.id}, ${purchase.owner}, ${purchase.status}, ${purchase.itemCount},
    ${purchase.totalQuantity}, ${purchase.version}, ${purchase.createdAt}, ${purchase.updatedAt}`
  const items = purchase.items.map(
    ({ id, product, quantity, note }, index) => sql`(${index}, ${id}, ${product}, ${quantity}, ${note})`,
  )
  const itemsOf = (inserted: Sql) => sql`
    INSERT INTO purchase_item (purchase_seq, position, id, product, quantity, note)
    SELECT seq, item.* FROM ${inserted}, (VALUES ${join(items)}) AS item`
  yield* send(
    byEngine({
      sqlite: sql`
        INSERT INTO purchase (seq, ${names}) SELECT coalesce(max(seq), 0) + 1, ${values} FROM purchase`,
      postgres: sql`
        WITH inserted AS (INSERT INTO purchase (${names}) VALUES (${values}) RETURNING seq)
        ${itemsOf(sql`inserted`)}`,
    }),
  )
  const newest = sql`(SELECT max(seq) AS seq FROM purchase) AS inserted`
  yield* send(byEngine({ sqlite: itemsOf(newest), postgres: sql`` }))
}

/** Changes the status of a purchase that this transaction found. */
export function* updateStatus<Purchase extends PurchaseRow>(
  purchase: Purchase,
  status: Status,
  now: number,
): Transaction<Purchase> {
  const { seq, version } = purchase
  yield* send(sql`
    UPDATE purchase SET status = ${status}, version = ${version + 1}, updated_at = ${now} WHERE seq = ${seq}`)
  return { ...purchase, status, version: version + 1, updatedAt: now }
}

/** Marks a purchase that this transaction found as deleted. No response shows it again. */
export function* deletePurchase({ seq, version }: PurchaseRow, now: number): Transaction<void> {
  yield* send(sql`
    UPDATE purchase SET deleted_at = ${now}, version = ${version + 1}, updated_at = ${now} WHERE seq = ${seq}`)
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

export interface ListedPurchases {
  readonly owner: string
  /** Without them: all statuses. */
  readonly statuses: readonly Status[] | undefined
  /** The owner of the purchases that `after` and `until` may name. */
  readonly reader: string
}

/** Newest first. Read it in a snapshot. */
export function listPurchases<Item extends { readonly id: string }>(
  query: ListQuery,
  { owner, statuses: chosen, reader }: ListedPurchases,
  toItem: (row: PurchaseRow) => Item,
): Transaction<Page<Item> | CursorPage<Item>> {
  const where = { ...ownedBy(owner), status: chosen ?? statuses }
  return purchases.read(query, { where, known: ownedBy(reader) }, toItem)
}

/** The oldest purchases with a status, at most `limit`. */
export function* oldest(status: Status, limit: number): Transaction<PurchaseRow[]> {
  return yield* many<PurchaseRow>(sql`
    SELECT ${columns} FROM purchase WHERE status = ${status} AND deleted_at IS NULL ORDER BY seq LIMIT ${limit}`)
}
