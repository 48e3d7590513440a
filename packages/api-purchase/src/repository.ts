import {
  byEngine,
  type CursorPage,
  columnsOf,
  join,
  type ListQuery,
  many,
  one,
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

/** `seq` is the position in the list of all purchases, and their number for people. */
export type PurchaseRow = Row<
  Omit<PurchaseSummary, 'owner' | 'total' | 'number' | 'items' | 'adjustments'>
> & {
  seq: number
  owner: string
  /** In minor units of `currency`. Null without a catalogue, as the currency. */
  total: number | null
  currency: string | null
  /** JSON; null if no module adjusted the total. */
  adjustments: string | null
}

export type ItemRow = Pick<PurchaseItem, 'id' | 'product' | 'quantity' | 'note' | 'name'> & {
  /** Of the product. Null without a catalogue. */
  identity: string | null
  /** In the currency of the purchase. */
  unitPrice: number | null
}

export interface PurchaseWithItems extends PurchaseRow {
  items: ItemRow[]
}

/** Stands for all owners. No caller id has this form. */
export const EVERYONE = '*'

const columns = sql`purchase.seq, purchase.id, purchase.owner, purchase.status, purchase.version,
  purchase.item_count AS "itemCount", purchase.total_quantity AS "totalQuantity",
  purchase.total, purchase.currency, purchase.adjustments, purchase.note, purchase.reference,
  purchase.created_at AS "createdAt", purchase.updated_at AS "updatedAt"`

const itemColumns = sql`item.id AS "itemId", item.product, item.identity, item.quantity, item.note AS "itemNote", item.name,
  item.unit_price AS "unitPrice"`
type SelectedItem = Omit<ItemRow, 'id' | 'note'> & { itemId: string; itemNote: string | null }
const toItemRow = ({
  itemId: id,
  product,
  identity,
  quantity,
  itemNote: note,
  name,
  unitPrice,
}: SelectedItem): ItemRow => ({
  id,
  product,
  identity,
  quantity,
  note,
  name,
  unitPrice,
})

const purchases = new PagedList<PurchaseRow>('purchase', {
  columns,
  position: 'seq',
  where: sql`deleted_at IS NULL`,
  walks: true,
})

/** `owner` may be EVERYONE, here and below. */
const ownedBy = (owner: string): RowValues => (owner === EVERYONE ? {} : { owner })

export function* findPurchase(id: string, owner: string): Transaction<PurchaseWithItems | undefined> {
  const rows = yield* many<PurchaseRow & SelectedItem>(sql`
    SELECT ${columns}, ${itemColumns}
    FROM purchase JOIN purchase_item AS item ON item.purchase_seq = purchase.seq
    WHERE purchase.id = ${id} AND purchase.deleted_at IS NULL
      AND (purchase.owner = ${owner} OR ${owner} = ${EVERYONE})
    ORDER BY item.position`)
  const [first] = rows
  if (!first) return undefined
  return { ...first, items: rows.map(toItemRow) }
}

/** The items of purchases that this snapshot found, in their order, by `seq`. */
export function* findItems(seqs: readonly number[]): Transaction<Map<number, ItemRow[]>> {
  if (seqs.length === 0) return new Map()
  const rows = yield* many<SelectedItem & { seq: number }>(sql`
    SELECT item.purchase_seq AS seq, ${itemColumns} FROM purchase_item AS item
    WHERE item.purchase_seq IN (${join(seqs.map((seq) => sql`${seq}`))})
    ORDER BY item.purchase_seq, item.position`)
  const bySeq = Map.groupBy(rows, ({ seq }) => seq)
  return new Map(Array.from(bySeq, ([seq, some]) => [seq, some.map(toItemRow)]))
}

/** A purchase to insert. An item with `taken` has taken stock. */
export interface NewRow extends Omit<PurchaseWithItems, 'seq'> {
  items: (ItemRow & { readonly taken: boolean })[]
}

const inserted = columnsOf(
  'id',
  'owner',
  'status',
  'item_count',
  'total_quantity',
  'total',
  'currency',
  'adjustments',
  'note',
  'reference',
  'version',
  'created_at',
  'updated_at',
)
const insertedItem = columnsOf(
  'position',
  'id',
  'product',
  'identity',
  'quantity',
  'note',
  'name',
  ['unit_price', 'BIGINT'],
  'taken',
)

/**
 * Inserts a purchase with its items, and returns its `seq`. On PostgreSQL this is one statement: a search
 * for the purchase would read the newest page of an index, which everyone who purchases writes, so
 * all of them would conflict.
 */
export function* insertPurchase(purchase: NewRow): Transaction<number> {
  const { items } = purchase
  const values = inserted.values({
    id: purchase.id,
    owner: purchase.owner,
    status: purchase.status,
    item_count: purchase.itemCount,
    total_quantity: purchase.totalQuantity,
    total: purchase.total,
    currency: purchase.currency,
    adjustments: purchase.adjustments,
    note: purchase.note,
    reference: purchase.reference,
    version: purchase.version,
    created_at: purchase.createdAt,
    updated_at: purchase.updatedAt,
  })
  const rows = items.map((item, position) =>
    insertedItem.values({
      position,
      id: item.id,
      product: item.product,
      identity: item.identity,
      quantity: item.quantity,
      note: item.note,
      name: item.name,
      unit_price: item.unitPrice,
      taken: item.taken ? 1 : 0,
    }),
  )
  const itemsOf = (source: Sql) => sql`
    INSERT INTO purchase_item (purchase_seq, ${insertedItem.names})
    SELECT seq, item.* FROM ${source}, (VALUES (${join(rows, '), (')})) AS item`
  const { seq } = yield* one<{ seq: number }>(
    byEngine({
      sqlite: sql`
        INSERT INTO purchase (seq, ${inserted.names}) SELECT coalesce(max(seq), 0) + 1, ${values} FROM purchase RETURNING seq`,
      postgres: sql`
        WITH inserted AS (INSERT INTO purchase (${inserted.names}) VALUES (${values}) RETURNING seq)
        ${itemsOf(sql`inserted`)} RETURNING purchase_seq AS seq`,
    }),
  )
  yield* send(byEngine({ sqlite: itemsOf(sql`(SELECT ${seq} AS seq) AS inserted`), postgres: sql`` }))
  return seq
}

/** The items that have taken stock, which is given back now: only the first call returns them. */
export const returnItems = (seqs: readonly number[]) =>
  many<Pick<ItemRow, 'product' | 'identity' | 'quantity'>>(sql`
    UPDATE purchase_item SET taken = 0 WHERE ${isOneOf(seqs)} AND taken = 1
    RETURNING product, identity, quantity`)

/** Notes the purchases that have taken stock: it cannot be given back now. */
export const insertReturns = (seqs: readonly number[]) =>
  send(sql`
    INSERT INTO purchase_return (purchase_seq)
    SELECT DISTINCT purchase_seq FROM purchase_item WHERE ${isOneOf(seqs)} AND taken = 1
    ON CONFLICT (purchase_seq) DO NOTHING`)

const isOneOf = (seqs: readonly number[]) => sql`purchase_seq IN (${join(seqs.map((seq) => sql`${seq}`))})`

/** Removes up to `limit` of the noted purchases. */
export const takeReturns = (limit: number) =>
  many<{ seq: number }>(sql`
    DELETE FROM purchase_return
    WHERE purchase_seq IN (SELECT purchase_seq FROM purchase_return ORDER BY purchase_seq LIMIT ${limit})
    RETURNING purchase_seq AS seq`)

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
  /** Epoch milliseconds, both exclusive. */
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly product?: string | undefined
  readonly number?: number | undefined
  /** The owner of the purchases that `after` and `until` may name. */
  readonly reader: string
}

/** Newest first. Read it in a snapshot. */
export function listPurchases<Item extends { readonly id: string }>(
  query: ListQuery,
  listed: ListedPurchases,
  toItem: (row: PurchaseRow) => Item,
): Transaction<Page<Item> | CursorPage<Item>> {
  const { owner, statuses: chosen, reader, number } = listed
  const only = number === undefined ? {} : { seq: number }
  const where = { ...ownedBy(owner), status: chosen ?? statuses, ...only }
  return purchases.read(query, { where, filter: filterOf(listed), known: ownedBy(reader) }, toItem)
}

function filterOf({ after, before, product }: ListedPurchases): Sql | undefined {
  const conditions = [
    ...(after === undefined ? [] : [sql`created_at > ${after}`]),
    ...(before === undefined ? [] : [sql`created_at < ${before}`]),
    ...(product === undefined ? [] : [hasItemOf(product)]),
  ]
  return conditions.length === 0 ? undefined : join(conditions, ' AND ')
}

const hasItemOf = (product: string) => sql`EXISTS (
  SELECT 1 FROM purchase_item AS item WHERE item.purchase_seq = purchase.seq AND item.product = ${product})`

/** The oldest purchases with a status, at most `limit`. */
export function* oldest(status: Status, limit: number): Transaction<PurchaseRow[]> {
  return yield* many<PurchaseRow>(sql`
    SELECT ${columns} FROM purchase WHERE status = ${status} AND deleted_at IS NULL ORDER BY seq LIMIT ${limit}`)
}
