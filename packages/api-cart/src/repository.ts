import {
  byEngine,
  expiryDay,
  forUpdate,
  join,
  many,
  maybeOne,
  newId,
  one,
  type Row,
  run,
  send,
  sql,
} from '@mortise/module-sdk'
import type { CartLine } from './contract.ts'
import type { CartItem, NewItem } from './schemas.ts'

/**
 * The statements of the cart. Each statement names the owner, or a cart that the same transaction
 * found by its owner, so an id alone gives no access. Every search has `expires_at > now`: an
 * expired cart does not exist for callers.
 */

export type CartVersion = { id: string; owner: string; version: number }
export type ItemRow = Row<Omit<CartItem, 'name' | 'unitPrice' | 'lineTotal'>> & Pick<CartLine, 'identity'>
/** An item to insert, with the identity of its product. */
type InsertedItem = NewItem & Pick<CartLine, 'identity'>

/** The cart and one of its items; the item's columns are null if the cart is empty. */
export type CartRow = (ItemRow | Record<keyof ItemRow, null>) & {
  cartId: string
  cartVersion: number
  cartCreatedAt: number
  cartUpdatedAt: number
  cartExpiresAt: number
}

const columns = sql`
  cart_item.id, cart_item.product, cart_item.identity, cart_item.quantity, cart_item.note, cart_item.version,
  cart_item.created_at AS "createdAt", cart_item.updated_at AS "updatedAt"`
const isLive = (owner: string, now: number) => sql`owner = ${owner} AND expires_at > ${now}`
const isOwn = (owner: string, now: number) => sql`cart_id = (SELECT id FROM cart WHERE ${isLive(owner, now)})`

/** In the order added. A single statement, so the result is one moment. */
export const cartOf = (owner: string, now: number) => sql`
    SELECT cart.id AS "cartId", cart.version AS "cartVersion", cart.created_at AS "cartCreatedAt",
      cart.updated_at AS "cartUpdatedAt", cart.expires_at AS "cartExpiresAt", ${columns}
    FROM cart LEFT JOIN cart_item ON cart_item.cart_id = cart.id
    WHERE cart.owner = ${owner} AND cart.expires_at > ${now}
    ORDER BY cart_item.since_version`

/** Every change of a cart writes this row, so the cart and its items stay until the end. */
export const lockCart = (owner: string, now: number) =>
  maybeOne<CartVersion>(sql`SELECT id, owner, version FROM cart WHERE ${isLive(owner, now)} ${forUpdate}`)

export const findItem = (owner: string, id: string, now: number) =>
  maybeOne<ItemRow>(sql`SELECT ${columns} FROM cart_item WHERE id = ${id} AND ${isOwn(owner, now)}`)

export const findItems = (owner: string, now: number) =>
  many<ItemRow>(sql`SELECT ${columns} FROM cart_item WHERE ${isOwn(owner, now)}`)

const inserted = (owner: string, now: number, expiresAt: number, by: number) => sql`
  INSERT INTO cart (id, owner, version, created_at, updated_at, expires_at, expiry_day)
  VALUES (${newId('cart')}, ${owner}, ${by}, ${now}, ${now}, ${expiresAt}, ${expiryDay(expiresAt)})`

/**
 * Raises the version of the owner's cart and extends its expiry. On PostgreSQL it also creates the
 * cart: an UPDATE that finds nothing locks its place in the index there, and two callers without a
 * cart would conflict.
 */
const raised = (owner: string, now: number, expiresAt: number, by: number) =>
  byEngine({
    sqlite: sql`
      UPDATE cart SET version = version + ${by}, updated_at = ${now}, expires_at = ${expiresAt}
      WHERE owner = ${owner} AND expires_at > ${now}`,
    postgres: sql`
      ${inserted(owner, now, expiresAt, by)} ON CONFLICT (owner) DO UPDATE SET
        version = cart.version + ${by}, updated_at = excluded.updated_at, expires_at = excluded.expires_at
      WHERE cart.expires_at > ${now}`,
  })

/** Raises the version of the owner's cart and extends its expiry, or creates a cart. */
export function* touchCart(owner: string, now: number, expiresAt: number, by = 1) {
  const cart = yield* maybeOne<CartVersion>(
    sql`${raised(owner, now, expiresAt, by)} RETURNING id, owner, version`,
  )
  return cart ?? (yield* createCart(owner, now, expiresAt, by))
}

/** The same, for a statement that finds the cart by its owner. */
export function* openCart(owner: string, now: number, expiresAt: number) {
  const changed = yield* run(raised(owner, now, expiresAt, 1), 1)
  if (changed === 0) yield* createCart(owner, now, expiresAt, 1)
}

function* createCart(owner: string, now: number, expiresAt: number, by: number) {
  yield* removeExpired(owner, now)
  return yield* one<CartVersion>(sql`${inserted(owner, now, expiresAt, by)} RETURNING id, owner, version`)
}

/** A new cart of the owner needs the place of the expired one. */
const removeExpired = (owner: string, now: number) =>
  run(sql`DELETE FROM cart WHERE owner = ${owner} AND expires_at <= ${now}`)

/**
 * Adds to the item of the product in the owner's cart, or creates it. Undefined, without a change, if
 * the sum exceeds `limit`, or the item is of another product, which had the id before.
 */
export const addToItem = (
  owner: string,
  { product, identity, quantity, note }: InsertedItem,
  limit: number,
  now: number,
) =>
  maybeOne<ItemRow & { cartId: string; cartVersion: number }>(sql`
    INSERT INTO cart_item
      (id, cart_id, since_version, product, identity, quantity, note, version, created_at, updated_at)
    SELECT ${newId('item')}, id, version, ${product}, ${identity}, ${quantity}, ${note ?? null}, 1, ${now}, ${now}
    FROM cart WHERE owner = ${owner}
    ON CONFLICT (cart_id, product) DO UPDATE SET
      quantity = cart_item.quantity + excluded.quantity,
      note = COALESCE(excluded.note, cart_item.note),
      identity = COALESCE(excluded.identity, cart_item.identity),
      version = cart_item.version + 1,
      updated_at = excluded.updated_at
    WHERE cart_item.quantity + excluded.quantity <= ${limit}
      AND (cart_item.identity <> excluded.identity) IS NOT TRUE
    RETURNING ${columns}, cart_item.cart_id AS "cartId",
      (SELECT cart.version FROM cart WHERE cart.id = cart_item.cart_id) AS "cartVersion"`)

/** Removes the item of a product that had the id before the one with this identity. */
export const deleteOther = (owner: string, { product, identity }: InsertedItem, now: number) =>
  maybeOne<ItemRow>(sql`
    DELETE FROM cart_item WHERE product = ${product} AND identity <> ${identity} AND ${isOwn(owner, now)}
    RETURNING ${columns}`)

/** @param sinceVersion one of those that the cart got in this transaction, for one item */
export const insertItem = (
  cartId: string,
  { product, identity, quantity, note }: InsertedItem,
  sinceVersion: number,
  now: number,
) =>
  one<ItemRow>(sql`
    INSERT INTO cart_item
      (id, cart_id, since_version, product, identity, quantity, note, version, created_at, updated_at)
    VALUES (${newId('item')}, ${cartId}, ${sinceVersion}, ${product}, ${identity}, ${quantity}, ${note ?? null}, 1, ${now}, ${now})
    RETURNING ${columns}`)

export const countItems = (cartId: string) =>
  one<{ count: number }>(sql`SELECT count(*) AS count FROM cart_item WHERE cart_id = ${cartId}`)

export const updateItem = ({ id, quantity, note }: ItemRow, now: number) =>
  one<ItemRow>(sql`
    UPDATE cart_item
    SET quantity = ${quantity}, note = ${note}, version = version + 1, updated_at = ${now}
    WHERE id = ${id} RETURNING ${columns}`)

/** For a cart that this transaction found by its owner. */
export const quantitiesIn = (cartId: string) =>
  many<CartLine>(sql`
    SELECT product, identity, quantity FROM cart_item WHERE cart_id = ${cartId} ORDER BY since_version`)

export const deleteItem = (owner: string, id: string, now: number) =>
  maybeOne<ItemRow>(sql`
    DELETE FROM cart_item WHERE id = ${id} AND ${isOwn(owner, now)} RETURNING ${columns}`)

/** Returns the number of deleted items. */
export const deleteItems = (owner: string, now: number) =>
  run(sql`DELETE FROM cart_item WHERE ${isOwn(owner, now)}`)

/** Gives a cart to an owner without a cart, or with an expired one. */
export function* moveCart({ id }: CartVersion, owner: string, now: number, expiresAt: number) {
  yield* removeExpired(owner, now)
  return yield* one<CartVersion>(sql`
    UPDATE cart SET owner = ${owner}, version = version + 1, updated_at = ${now}, expires_at = ${expiresAt}
    WHERE id = ${id} RETURNING id, owner, version`)
}

/**
 * A product in both gets the larger quantity, and the note of `from` if it has none. If the items mean
 * two products that had one id, the newer item stays. The changed cart's version is the sum of both.
 */
export function* mergeCarts(from: CartVersion, into: CartVersion, now: number, expiresAt: number) {
  const isOther = sql`other.identity <> cart_item.identity`
  const raised = yield* run(sql`
    UPDATE cart_item SET
      quantity = CASE WHEN ${isOther} OR other.quantity > cart_item.quantity THEN other.quantity ELSE cart_item.quantity END,
      note = CASE WHEN ${isOther} THEN other.note ELSE COALESCE(cart_item.note, other.note) END,
      identity = COALESCE(other.identity, cart_item.identity), version = cart_item.version + 1, updated_at = ${now}
    FROM cart_item AS other
    WHERE cart_item.cart_id = ${into.id} AND other.cart_id = ${from.id} AND other.product = cart_item.product
      AND CASE WHEN ${isOther} THEN other.created_at > cart_item.created_at
        ELSE other.quantity > cart_item.quantity OR cart_item.note IS NULL AND other.note IS NOT NULL END`)
  const moved = yield* run(sql`
    UPDATE cart_item SET cart_id = ${into.id}, since_version = since_version + ${into.version}
    WHERE cart_id = ${from.id} AND product NOT IN (SELECT product FROM cart_item WHERE cart_id = ${into.id})`)
  yield* run(sql`DELETE FROM cart WHERE id = ${from.id}`)
  if (raised + moved === 0) return into
  return yield* one<CartVersion>(sql`
    UPDATE cart SET version = version + ${from.version}, updated_at = ${now}, expires_at = ${expiresAt}
    WHERE id = ${into.id} RETURNING id, owner, version`)
}

/** Stock that is taken for a cart, by product. */
export interface Reserved extends CatalogLine {
  readonly expiresAt: number
}

/** A quantity of a product that the catalogue has. */
export interface CatalogLine extends CartLine {
  readonly identity: string
}

const reserved = sql`product, identity, quantity, expires_at AS "expiresAt"`

/** In the order of the lines. */
export const findReservation = (owner: string, now: number) =>
  many<Reserved>(sql`
    SELECT ${reserved} FROM cart_reservation WHERE ${isOwn(owner, now)}
    ORDER BY (
      SELECT since_version FROM cart_item
      WHERE cart_item.cart_id = cart_reservation.cart_id AND cart_item.product = cart_reservation.product
    )`)

/** Removes the reservation of a cart that this transaction has locked. */
export const takeReservation = (cartId: string) =>
  many<Reserved>(sql`DELETE FROM cart_reservation WHERE cart_id = ${cartId} RETURNING ${reserved}`)

export type ExpiredRow = Reserved & { cartId: string }

/**
 * Removes up to `limit` rows of any carts. Rows that another transaction has locked are left to it: it
 * could wait for others of these.
 */
export function* takeExpired(limit: number, now: number) {
  const unlocked = byEngine({ sqlite: sql``, postgres: sql`FOR UPDATE SKIP LOCKED` })
  const rows = yield* many<ExpiredRow>(sql`
    SELECT cart_id AS "cartId", ${reserved} FROM cart_reservation
    WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${limit} ${unlocked}`)
  for (const { cartId, product } of rows)
    yield* run(sql`DELETE FROM cart_reservation WHERE cart_id = ${cartId} AND product = ${product}`, 1)
  return rows
}

export function* insertReservation(cartId: string, lines: readonly CatalogLine[], expiresAt: number) {
  if (lines.length === 0) return
  const rows = lines.map(
    ({ product, identity, quantity }) => sql`(${cartId}, ${product}, ${identity}, ${quantity}, ${expiresAt})`,
  )
  yield* send(sql`
    INSERT INTO cart_reservation (cart_id, product, identity, quantity, expires_at) VALUES ${join(rows)}`)
}
