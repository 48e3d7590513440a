import {
  DAY,
  type Database,
  join,
  many,
  maybeOne,
  one,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'

/**
 * The statements of the cart. Every one names the owner or a cart found by its owner in the same transaction, so
 * that an id alone opens nothing. An expired cart is as if it never was: `expires_at > now` wherever one is sought.
 */

interface CartRow {
  id: string
  version: number
  createdAt: number
  updatedAt: number
  expiresAt: number
}

export type CartVersion = Pick<CartRow, 'id' | 'version'>

/** What an item is about. */
export interface Line {
  id: string
  product: string
  quantity: number
}

export interface ItemRow extends Line {
  version: number
  createdAt: number
  updatedAt: number
}

export interface CartWithItems {
  cart: CartRow
  /** In the order added. */
  items: ItemRow[]
}

/** A row of the join: an item, or nulls where the cart has none. */
type CartLine = {
  cartId: string
  cartVersion: number
  cartCreatedAt: number
  cartUpdatedAt: number
  cartExpiresAt: number
} & (ItemRow | Record<keyof ItemRow, null>)

/** One statement, and so one moment. */
export async function findCart(
  database: Database,
  owner: string,
  now: number,
): Promise<CartWithItems | undefined> {
  const lines = await database.many<CartLine>(sql`
    SELECT cart.id AS "cartId", cart.version AS "cartVersion", cart.created_at AS "cartCreatedAt",
      cart.updated_at AS "cartUpdatedAt", cart.expires_at AS "cartExpiresAt",
      item.id, item.product, item.quantity, item.version,
      item.created_at AS "createdAt", item.updated_at AS "updatedAt"
    FROM cart LEFT JOIN cart_item AS item ON item.cart_id = cart.id
    WHERE cart.owner = ${owner} AND cart.expires_at > ${now}
    ORDER BY item.since_version`)
  const [first] = lines
  if (!first) return undefined
  return {
    cart: {
      id: first.cartId,
      version: first.cartVersion,
      createdAt: first.cartCreatedAt,
      updatedAt: first.cartUpdatedAt,
      expiresAt: first.cartExpiresAt,
    },
    items: lines.filter((line) => line.id !== null),
  }
}

export function* findVersion(owner: string, now: number): Transaction<CartVersion | undefined> {
  return yield* maybeOne(sql`SELECT id, version FROM cart WHERE owner = ${owner} AND expires_at > ${now}`)
}

export function* findItem(owner: string, id: string, now: number): Transaction<ItemRow | undefined> {
  return yield* maybeOne<ItemRow>(sql`
    SELECT item.id, item.product, item.quantity, item.version,
      item.created_at AS "createdAt", item.updated_at AS "updatedAt"
    FROM cart_item AS item JOIN cart ON cart.id = item.cart_id
    WHERE item.id = ${id} AND cart.owner = ${owner} AND cart.expires_at > ${now}`)
}

/** Raises the version of the owner's cart and puts off its expiry. Undefined where there is no cart. */
export function* touchCart(
  owner: string,
  now: number,
  expiresAt: number,
): Transaction<CartVersion | undefined> {
  return yield* maybeOne(sql`
    UPDATE cart SET version = version + 1, updated_at = ${now}, expires_at = ${expiresAt}, expiry_day = ${dayOf(expiresAt)}
    WHERE owner = ${owner} AND expires_at > ${now}
    RETURNING id, version`)
}

/** Makes room for another cart of the owner. */
function* removeExpired(owner: string, now: number): Transaction<void> {
  yield* run(sql`DELETE FROM cart WHERE owner = ${owner} AND expires_at <= ${now}`)
}

/** Starts the owner's cart anew; the expired one, if there is one, goes with its items. */
export function* startCart(
  cart: CartVersion,
  owner: string,
  now: number,
  expiresAt: number,
): Transaction<void> {
  yield* removeExpired(owner, now)
  yield* run(sql`
    INSERT INTO cart (id, owner, version, created_at, updated_at, expires_at, expiry_day)
    VALUES (${cart.id}, ${owner}, ${cart.version}, ${now}, ${now}, ${expiresAt}, ${dayOf(expiresAt)})`)
}

/**
 * Adds to the item of this product, or makes it: version 1 tells. Undefined, and nothing done, where the sum would
 * pass `limit`.
 */
export function* addToItem(
  cart: CartVersion,
  added: { id: string; product: string; quantity: number },
  limit: number,
  now: number,
): Transaction<ItemRow | undefined> {
  return yield* maybeOne<ItemRow>(sql`
    INSERT INTO cart_item (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
    VALUES (${added.id}, ${cart.id}, ${cart.version}, ${added.product}, ${added.quantity}, 1, ${now}, ${now})
    ON CONFLICT (cart_id, product) DO UPDATE SET
      quantity = cart_item.quantity + excluded.quantity,
      version = cart_item.version + 1,
      updated_at = excluded.updated_at
    WHERE cart_item.quantity + excluded.quantity <= ${limit}
    RETURNING id, product, quantity, version, created_at AS "createdAt", updated_at AS "updatedAt"`)
}

export function* countItems(cartId: string): Transaction<number> {
  const { count } = yield* one<{ count: number }>(
    sql`SELECT count(*) AS count FROM cart_item WHERE cart_id = ${cartId}`,
  )
  return count
}

export function* saveItem(owner: string, item: ItemRow): Transaction<void> {
  yield* run(sql`
    UPDATE cart_item SET quantity = ${item.quantity}, version = ${item.version}, updated_at = ${item.updatedAt}
    WHERE id = ${item.id} AND cart_id = (SELECT id FROM cart WHERE owner = ${owner})`)
}

/** The items of these products in the owner's cart. */
export function* findProducts(owner: string, products: readonly string[], now: number): Transaction<Line[]> {
  return yield* many(sql`
    SELECT item.id, item.product, item.quantity
    FROM cart_item AS item JOIN cart ON cart.id = item.cart_id
    WHERE cart.owner = ${owner} AND cart.expires_at > ${now}
      AND item.product IN (${join(products.map((product) => sql`${product}`))})`)
}

/** Takes a quantity off an item found in this transaction; one of which nothing is left goes. */
export function* takeFromItem(
  item: Pick<ItemRow, 'id' | 'quantity'>,
  quantity: number,
  now: number,
): Transaction<void> {
  yield* run(
    quantity === item.quantity
      ? sql`DELETE FROM cart_item WHERE id = ${item.id}`
      : sql`
          UPDATE cart_item SET quantity = quantity - ${quantity}, version = version + 1, updated_at = ${now}
          WHERE id = ${item.id}`,
  )
}

/** Answers what the item was; undefined where there was none. */
export function* deleteItem(owner: string, id: string, now: number): Transaction<Line | undefined> {
  return yield* maybeOne<Line>(sql`
    DELETE FROM cart_item
    WHERE id = ${id} AND cart_id = (SELECT id FROM cart WHERE owner = ${owner} AND expires_at > ${now})
    RETURNING id, product, quantity`)
}

/** Answers how many items there were. */
export function* deleteItems(owner: string, now: number): Transaction<number> {
  return yield* run(sql`
    DELETE FROM cart_item
    WHERE cart_id = (SELECT id FROM cart WHERE owner = ${owner} AND expires_at > ${now})`)
}

/** Gives a cart found in this transaction to an owner whose own, if there is one, has expired. */
export function* moveCart(
  { id, version }: CartVersion,
  owner: string,
  now: number,
  expiresAt: number,
): Transaction<CartVersion> {
  yield* removeExpired(owner, now)
  yield* run(sql`
    UPDATE cart SET owner = ${owner}, version = ${version + 1}, updated_at = ${now}, expires_at = ${expiresAt}, expiry_day = ${dayOf(expiresAt)}
    WHERE id = ${id}`)
  return { id, version: version + 1 }
}

/**
 * Puts the items of one cart into another, behind those that are there; of a product in both, the larger quantity.
 * Both were found in this transaction; the first is gone afterwards. If the other has
 * changed, its version becomes the sum of both.
 */
export function* mergeCarts(
  from: CartVersion,
  into: CartVersion,
  now: number,
  expiresAt: number,
): Transaction<CartVersion> {
  // First what every change of that cart writes, so that on PostgreSQL none slips in after what is read here: a claim would
  // fail at a line added meanwhile, and take one removed meanwhile for still there, dropping the guest's.
  yield* run(sql`UPDATE cart SET version = version WHERE id = ${into.id}`)
  const raised = yield* run(sql`
    UPDATE cart_item SET quantity = other.quantity, version = cart_item.version + 1, updated_at = ${now}
    FROM cart_item AS other
    WHERE cart_item.cart_id = ${into.id} AND other.cart_id = ${from.id}
      AND other.product = cart_item.product AND other.quantity > cart_item.quantity`)
  const moved = yield* run(sql`
    UPDATE cart_item SET cart_id = ${into.id}, since_version = since_version + ${into.version}
    WHERE cart_id = ${from.id}
      AND product NOT IN (SELECT product FROM cart_item WHERE cart_id = ${into.id})`)
  yield* run(sql`DELETE FROM cart WHERE id = ${from.id}`)
  if (raised + moved === 0) return into
  const version = into.version + from.version
  yield* run(sql`
    UPDATE cart SET version = ${version}, updated_at = ${now}, expires_at = ${expiresAt}, expiry_day = ${dayOf(expiresAt)}
    WHERE id = ${into.id}`)
  return { id: into.id, version }
}

/**
 * Deletes carts that expired before today (UTC), those of the earliest days first and at most `limit`, with their
 * items; answers how many.
 */
export function* deleteExpired(limit: number, now: number): Transaction<number> {
  return yield* run(sql`
    DELETE FROM cart WHERE id IN (
      SELECT id FROM cart WHERE expiry_day < ${dayOf(now)} AND expires_at <= ${now}
      ORDER BY expiry_day LIMIT ${limit})`)
}

const dayOf = (time: number) => Math.floor(time / DAY)
