import {
  type Caller,
  type CartQuantity,
  DAY,
  type Database,
  type GuestClaim,
  MAX_QUANTITY,
  newId,
  type Transaction,
  timestamp,
  type Versioned,
} from '@mortise/module-sdk'
import { emit } from './events.ts'
import { problems } from './problems.ts'
import * as repository from './repository.ts'
import type { Cart, CartItem, NewItem } from './schemas.ts'

/**
 * The rules of the cart: one per caller, one line per product, nothing of an expired one left. Every change raises
 * the cart's version and puts off its expiry; what changes nothing leaves both alone.
 */

/** How long a cart is kept after its last change, in milliseconds. */
const LIFETIME = { guest: 30 * DAY, user: 90 * DAY }
const MAX_ITEMS = 200
/** Carts that one run of `deleteExpired` takes at most, so that no transaction is a long one. */
const DELETED_AT_ONCE = 100

export async function showCart(database: Database, caller: Caller, now = Date.now()): Promise<Cart> {
  const found = await repository.findCart(database, caller.id, now)
  const items = found?.items.map(toItem) ?? []
  return {
    id: found?.cart.id ?? null,
    items,
    itemCount: items.length,
    totalQuantity: items.reduce((sum, item) => sum + item.quantity, 0),
    total: null,
    version: found?.cart.version ?? 0,
    createdAt: found ? timestamp(found.cart.createdAt) : null,
    updatedAt: found ? timestamp(found.cart.updatedAt) : null,
    expiresAt: found ? timestamp(found.cart.expiresAt) : null,
  }
}

/** What If-Match is compared with: that of `showCart`. */
export function* cartVersion(caller: Caller, now = Date.now()): Transaction<Versioned> {
  return (yield* repository.findVersion(caller.id, now)) ?? { id: null, version: 0 }
}

export function* showItem(caller: Caller, id: string, now = Date.now()): Transaction<CartItem> {
  const item = yield* repository.findItem(caller.id, id, now)
  if (!item) throw itemNotFound()
  return toItem(item)
}

/** Adds a quantity to the line of its product; `added` tells whether the line is new. */
export function* addItem(
  caller: Caller,
  { product, quantity }: NewItem,
  now = Date.now(),
): Transaction<{ item: CartItem; added: boolean }> {
  const cart =
    (yield* repository.touchCart(caller.id, now, expiryOf(caller, now))) ?? (yield* startCart(caller, now))
  const line = { id: newId('item'), product, quantity }
  const item = yield* repository.addToItem(cart, line, MAX_QUANTITY, now)
  if (!item) {
    throw problems.create(
      'quantity-limit',
      `With ${quantity} more the cart would hold over ${MAX_QUANTITY} of this product: add fewer.`,
    )
  }
  const added = item.version === 1
  if (added && (yield* repository.countItems(cart.id)) > MAX_ITEMS) {
    throw problems.create(
      'cart-full',
      `The cart already has ${MAX_ITEMS} lines, which is the most it may have: remove one first.`,
    )
  }
  yield* tell(caller, added ? 'cart.item-added' : 'cart.item-changed', item, cart)
  return { item: toItem(item), added }
}

/** Sets the quantity of a line; the one that it has already is no change. */
export function* changeItem(
  caller: Caller,
  id: string,
  quantity: number,
  now = Date.now(),
): Transaction<CartItem> {
  const item = yield* repository.findItem(caller.id, id, now)
  if (!item) throw itemNotFound()
  if (item.quantity === quantity) return toItem(item)
  const changed = { ...item, quantity, version: item.version + 1, updatedAt: now }
  yield* repository.saveItem(caller.id, changed)
  yield* tell(caller, 'cart.item-changed', changed, yield* touchCart(caller, now))
  return toItem(changed)
}

export function* removeItem(caller: Caller, id: string, now = Date.now()): Transaction<void> {
  const item = yield* repository.deleteItem(caller.id, id, now)
  if (!item) throw itemNotFound()
  yield* tell(caller, 'cart.item-removed', item, yield* touchCart(caller, now))
}

/** Leaves an empty cart, and one that never was, as it is. */
export function* emptyCart(caller: Caller, now = Date.now()): Transaction<void> {
  const itemCount = yield* repository.deleteItems(caller.id, now)
  if (itemCount === 0) return
  const { id, version } = yield* touchCart(caller, now)
  yield* emit('cart.emptied', { subject: id, owner: caller.id, data: { itemCount, version } })
}

/** The contract `cart`: see CartContract of the SDK. */
export function* takeFromCart(
  caller: Caller,
  quantities: readonly CartQuantity[],
  now = Date.now(),
): Transaction<CartQuantity[]> {
  const products = quantities.map(({ product }) => product)
  const items = yield* repository.findProducts(caller.id, products, now)
  const byProduct = new Map(items.map((item) => [item.product, item]))
  const short = quantities.flatMap(({ product, quantity }) => {
    const present = byProduct.get(product)?.quantity ?? 0
    return present < quantity ? [{ product, quantity: present }] : []
  })
  if (short.length > 0) return short
  const cart = yield* touchCart(caller, now)
  for (const { product, quantity } of quantities) {
    const item = byProduct.get(product) as repository.Line
    yield* repository.takeFromItem(item, quantity, now)
    const left = item.quantity - quantity
    if (left === 0) yield* tell(caller, 'cart.item-removed', item, cart)
    else yield* tell(caller, 'cart.item-changed', { ...item, quantity: left }, cart)
  }
  return []
}

/** Makes the guest's cart the user's, or puts its items into the one that the user has. No limit of lines here. */
export function* claimCart({ guest, user }: GuestClaim, now = Date.now()): Transaction<void> {
  const cart = yield* repository.findVersion(guest, now)
  if (!cart) return
  const own = yield* repository.findVersion(user, now)
  const expiresAt = now + LIFETIME.user
  const { id, version } = yield* own
    ? repository.mergeCarts(cart, own, now, expiresAt)
    : repository.moveCart(cart, user, now, expiresAt)
  yield* emit('cart.claimed', { subject: id, owner: user, data: { from: guest, version } })
}

/** Makes room, no more: an expired cart is in no answer. Answers whether there may be more of them. */
export function* deleteExpired(now = Date.now()): Transaction<boolean> {
  return (yield* repository.deleteExpired(DELETED_AT_ONCE, now)) === DELETED_AT_ONCE
}

const expiryOf = ({ kind }: Caller, now: number) => now + LIFETIME[kind]

/** Of a cart in which something was found. */
function* touchCart(caller: Caller, now: number): Transaction<repository.CartVersion> {
  return (yield* repository.touchCart(caller.id, now, expiryOf(caller, now))) as repository.CartVersion
}

function* startCart(caller: Caller, now: number): Transaction<repository.CartVersion> {
  const cart = { id: newId('cart'), version: 1 }
  yield* repository.startCart(cart, caller.id, now, expiryOf(caller, now))
  return cart
}

/** Emits what happened to a line. */
function tell(
  caller: Caller,
  type: 'cart.item-added' | 'cart.item-changed' | 'cart.item-removed',
  { id, product, quantity }: repository.Line,
  cart: repository.CartVersion,
): Transaction<void> {
  const data = { id, product, quantity, version: cart.version }
  return emit(type, { subject: cart.id, owner: caller.id, data })
}

/** The same for every id that opens nothing: unknown, malformed, removed, another caller's. */
function itemNotFound() {
  return problems.create(
    'item-not-found',
    'Your cart has no item with this id: GET /cart/item lists those it has.',
  )
}

function toItem(row: repository.ItemRow): CartItem {
  return {
    id: row.id,
    product: row.product,
    quantity: row.quantity,
    name: null,
    unitPrice: null,
    lineTotal: null,
    version: row.version,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}
