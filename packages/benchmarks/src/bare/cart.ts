import { expiryDay, newId, timestamp } from '@mortise/module-sdk'
import type { Static } from '@sinclair/typebox'
import type { Database } from 'better-sqlite3'
import type { BareCaller } from './callers.ts'
import type { Cart } from './schemas.ts'

export interface Item {
  id: string
  product: string
  quantity: number
  version: number
  createdAt: number
  updatedAt: number
}

export interface Line extends Omit<Item, 'id'> {
  id: string | null
  cartId: string
  cartVersion: number
  cartCreatedAt: number
  cartUpdatedAt: number
  cartExpiresAt: number
}

export const MAX_QUANTITY = 9999
export const MAX_ITEMS = 200

/** `GET /cart` and `POST /cart/item` by hand, with the module's statements. */
export class BareCart {
  readonly #lines
  readonly #touch
  readonly #deleteExpired
  readonly #insert
  readonly #addToItem
  readonly #count

  constructor(database: Database) {
    this.#lines = database.prepare<[string, number], Line>(`
      SELECT cart.id AS cartId, cart.version AS cartVersion, cart.created_at AS cartCreatedAt,
        cart.updated_at AS cartUpdatedAt, cart.expires_at AS cartExpiresAt,
        item.id, item.product, item.quantity, item.version,
        item.created_at AS createdAt, item.updated_at AS updatedAt
      FROM cart LEFT JOIN cart_item AS item ON item.cart_id = cart.id
      WHERE cart.owner = ? AND cart.expires_at > ?
      ORDER BY item.since_version`)
    this.#touch = database.prepare<[number, number, string, number], { id: string; version: number }>(`
      UPDATE cart SET version = version + 1, updated_at = ?, expires_at = ?
      WHERE owner = ? AND expires_at > ? RETURNING id, version`)
    this.#deleteExpired = database.prepare<[string, number]>(
      'DELETE FROM cart WHERE owner = ? AND expires_at <= ?',
    )
    this.#insert = database.prepare<[string, string, number, number, number, number]>(`
      INSERT INTO cart (id, owner, version, created_at, updated_at, expires_at, expiry_day)
      VALUES (?, ?, 1, ?, ?, ?, ?)`)
    this.#addToItem = database.prepare<[string, string, number, string, number, number, number], Item>(`
      INSERT INTO cart_item (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, 1, ?, ?)
      ON CONFLICT (cart_id, product) DO UPDATE SET
        quantity = cart_item.quantity + excluded.quantity,
        version = cart_item.version + 1,
        updated_at = excluded.updated_at
      WHERE cart_item.quantity + excluded.quantity <= ${MAX_QUANTITY}
      RETURNING id, product, quantity, version, created_at AS createdAt, updated_at AS updatedAt`)
    this.#count = database
      .prepare<[string], number>('SELECT count(*) FROM cart_item WHERE cart_id = ?')
      .pluck()
  }

  show({ owner }: BareCaller, now: number): Static<typeof Cart> {
    return toCart(this.#lines.all(owner, now))
  }

  /** Call this in a transaction. */
  add({ owner, lifetime }: BareCaller, product: string, quantity: number, now: number) {
    const cart = this.#touch.get(now, now + lifetime, owner, now) ?? this.#start(owner, now, now + lifetime)
    const item = this.#addToItem.get(newId('item'), cart.id, cart.version, product, quantity, now, now)
    if (!item) throw new Error(`more than ${MAX_QUANTITY} of this product`)
    const added = item.version === 1
    if (added && (this.#count.get(cart.id) as number) > MAX_ITEMS) throw new Error('the cart is full')
    return { item: toItem(item), added }
  }

  #start(owner: string, now: number, expiresAt: number) {
    const cart = { id: newId('cart'), version: 1 }
    this.#deleteExpired.run(owner, now)
    this.#insert.run(cart.id, owner, now, now, expiresAt, expiryDay(expiresAt))
    return cart
  }
}

export function toCart(lines: readonly Line[]): Static<typeof Cart> {
  const [cart] = lines
  const items = lines.filter((line): line is Line & Item => line.id !== null).map(toItem)
  return {
    id: cart?.cartId ?? null,
    items,
    itemCount: items.length,
    totalQuantity: items.reduce((sum, { quantity }) => sum + quantity, 0),
    total: null,
    version: cart?.cartVersion ?? 0,
    createdAt: cart ? timestamp(cart.cartCreatedAt) : null,
    updatedAt: cart ? timestamp(cart.cartUpdatedAt) : null,
    expiresAt: cart ? timestamp(cart.cartExpiresAt) : null,
  }
}

export function toItem({ id, product, quantity, version, createdAt, updatedAt }: Item) {
  return {
    id,
    product,
    quantity,
    note: null,
    name: null,
    unitPrice: null,
    lineTotal: null,
    version,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
  }
}
