import {
  type Caller,
  currentTime,
  DAY,
  type Database,
  type GuestClaim,
  invalidRequest,
  many,
  timestamp,
} from '@mortise/module-sdk'
import type { CartLine, CartQuantity } from './contract.ts'
import { emit, problem } from './module.ts'
import * as repository from './repository.ts'
import { mergingReservations, trimReservation } from './reservation.ts'
import {
  type Cart,
  type CartItem,
  type ItemChange,
  MAX_QUANTITY,
  type NewContents,
  type NewItem,
} from './schemas.ts'
import {
  adjusted,
  assertForSale,
  isSame,
  reservedBy,
  type Shelf,
  type Shop,
  shelfFor,
  shownAs,
  shownReservation,
  totalOf,
} from './shelf.ts'

/**
 * The rules of the cart: one cart per caller, one item per product, and nothing from an expired
 * cart. Every change raises the cart's version and extends its expiry. A request without a change
 * touches neither. A change writes the cart first, so that none waits for another in a circle.
 */

/** A cart lives this long after its last change, in milliseconds. */
const LIFETIME = { guest: 30 * DAY, user: 90 * DAY }
const MAX_ITEMS = 200

export async function showCart(
  database: Database,
  caller: Caller,
  shop: Shop = {},
  now = currentTime(),
): Promise<Cart> {
  const query = repository.cartOf(caller.id, now)
  if (!shop.catalog) return toCart(await database.many<repository.CartRow>(query))
  return database.snapshot(() => readCart(caller, shop, now))
}

/** The same, as a part of a transaction. */
export function* readCart(caller: Caller, shop: Shop, now = currentTime()) {
  const rows = yield* many<repository.CartRow>(repository.cartOf(caller.id, now))
  const shelf = yield* shelfFor(itemsOf(rows), shop.catalog)
  const cart = toCart(rows, shelf, yield* reservedBy(caller, shop, now))
  return yield* adjusted(caller, cart, shop)
}

const itemsOf = (rows: readonly repository.CartRow[]) => rows.filter((row) => row.id !== null)

function toCart(
  rows: readonly repository.CartRow[],
  shelf?: Shelf,
  reserved: readonly repository.Reserved[] = [],
): Cart {
  const items = itemsOf(rows).map((row) => toItem(row, shelf, reserved))
  const [cart] = rows
  return {
    ...shownReservation(reserved),
    id: cart?.cartId ?? null,
    items,
    itemCount: items.length,
    totalQuantity: items.reduce((sum, item) => sum + item.quantity, 0),
    total: shelf ? totalOf(items) : null,
    version: cart?.cartVersion ?? 0,
    createdAt: timestamp(cart?.cartCreatedAt ?? null),
    updatedAt: timestamp(cart?.cartUpdatedAt ?? null),
    expiresAt: timestamp(cart?.cartExpiresAt ?? null),
  }
}

/** The value for If-Match: the id and version that `showCart` returns. */
export function* cartVersion(caller: Caller) {
  return (yield* repository.lockCart(caller.id, currentTime())) ?? { id: null, version: 0 }
}

export function* showItem(caller: Caller, id: string, shop: Shop = {}, now = currentTime()) {
  const item = found(yield* repository.findItem(caller.id, id, now))
  return toItem(item, yield* shelfFor([item], shop.catalog), yield* reservedBy(caller, shop, now))
}

/** Adds a quantity of a product; `added` is true for a new item. */
export function* addItem(caller: Caller, newItem: NewItem, shop: Shop = {}, now = currentTime()) {
  const { id: owner, kind } = caller
  const shelf = yield* shelfFor([newItem], shop.catalog)
  assertForSale([newItem], shelf)
  yield* repository.openCart(owner, now, now + LIFETIME[kind])
  const meant = { ...newItem, identity: identityOn(shelf, newItem) }
  const item =
    (yield* repository.addToItem(owner, meant, MAX_QUANTITY, now)) ??
    (yield* replaceOther(caller, meant, shop, now))
  if (!item)
    throw problem('quantity-limit', `A line can have at most ${MAX_QUANTITY} of a product: add fewer.`)
  const added = item.version === 1
  const { cartId, cartVersion } = item
  // Each line has raised the version: most carts need no count.
  if (added && cartVersion > MAX_ITEMS && (yield* repository.countItems(cartId)).count > MAX_ITEMS)
    throw problem('cart-full', `A cart can have at most ${MAX_ITEMS} lines: remove one first.`)
  const cart = { id: cartId, owner, version: cartVersion }
  yield* emit(added ? 'cart.item-added' : 'cart.item-changed', about(item, cart))
  return { item: toItem(item, shelf, yield* reservedBy(caller, shop, now)), added }
}

/** The identity of the product that has the id of a line now. */
const identityOn = (shelf: Shelf, { product }: Pick<CartQuantity, 'product'>) =>
  shelf?.get(product)?.identity ?? null

/** Replaces the item of a product that had the id before. Undefined if the item is not one. */
function* replaceOther(
  { id: owner }: Caller,
  newItem: NewItem & Pick<CartLine, 'identity'>,
  shop: Shop,
  now: number,
) {
  const other = yield* repository.deleteOther(owner, newItem, now)
  const item = other && (yield* repository.addToItem(owner, newItem, MAX_QUANTITY, now))
  if (!item) return undefined
  const { cartId, cartVersion } = item
  yield* emit('cart.item-removed', about(other, { id: cartId, owner, version: cartVersion }))
  yield* trimReservation(cartId, shop)
  return item
}

/** Sets the quantity or the note of an item. The same values are no change. */
export function* changeItem(
  caller: Caller,
  id: string,
  change: ItemChange,
  shop: Shop = {},
  now = currentTime(),
) {
  const item = found(yield* repository.findItem(caller.id, id, now))
  const shelf = yield* shelfFor([item], shop.catalog)
  const { quantity = item.quantity, note = item.note } = change
  const shown = function* (row: repository.ItemRow) {
    return toItem(row, shelf, yield* reservedBy(caller, shop, now))
  }
  if (item.quantity === quantity && item.note === note) return yield* shown(item)
  if (quantity > item.quantity) assertForSale([item], shelf)
  const cart = yield* touchCart(caller, now)
  const changed = yield* repository.updateItem({ ...item, quantity, note }, now)
  yield* emit('cart.item-changed', about(changed, cart))
  if (quantity < item.quantity) yield* trimReservation(cart.id, shop)
  return yield* shown(changed)
}

export function* removeItem(caller: Caller, id: string, shop: Shop = {}, now = currentTime()) {
  const item = found(yield* repository.findItem(caller.id, id, now))
  const cart = yield* touchCart(caller, now)
  yield* repository.deleteItem(caller.id, id, now)
  yield* emit('cart.item-removed', about(item, cart))
  yield* trimReservation(cart.id, shop)
  return { id, deleted: true as const }
}

/** An empty or missing cart stays as it is. */
export function* emptyCart(caller: Caller, shop: Shop = {}, now = currentTime()) {
  yield* repository.lockCart(caller.id, now)
  const itemCount = yield* repository.deleteItems(caller.id, now)
  if (itemCount > 0) {
    const { id, owner, version } = yield* touchCart(caller, now)
    yield* emit('cart.emptied', { subject: id, owner, data: { itemCount, version } })
    yield* trimReservation(id, shop)
  }
  return { deleted: true as const }
}

/**
 * Sets all lines at once. A product that stays keeps its line, and a line as it was is no change.
 */
export function* replaceItems(caller: Caller, { items }: NewContents, shop: Shop, now = currentTime()) {
  assertOnce(items)
  const shelf = yield* shelfFor(items, shop.catalog)
  assertForSale(items, shelf)
  const present = yield* repository.findItems(caller.id, now)
  const wanted = new Map(items.map((item) => [item.product, { ...item, identity: identityOn(shelf, item) }]))
  const stays = (item: repository.ItemRow) => {
    const one = wanted.get(item.product)
    return one !== undefined && isSame(one, item)
  }
  const kept = new Set(present.filter(stays).map(({ product }) => product))
  const gone = present.filter((item) => !stays(item))
  const added = [...wanted.values()].filter(({ product }) => !kept.has(product))
  const changed = present.filter(stays).flatMap((item) => {
    const { quantity, note = null } = wanted.get(item.product) as NewItem
    return quantity === item.quantity && note === item.note ? [] : [{ ...item, quantity, note }]
  })
  if (gone.length + added.length + changed.length > 0) {
    const cart = yield* touchCart(caller, now, Math.max(added.length, 1))
    for (const item of gone) {
      yield* repository.deleteItem(caller.id, item.id, now)
      yield* emit('cart.item-removed', about(item, cart))
    }
    for (const item of changed) {
      yield* emit('cart.item-changed', about(yield* repository.updateItem(item, now), cart))
    }
    for (const [index, item] of added.entries()) {
      const since = cart.version - added.length + 1 + index
      yield* emit('cart.item-added', about(yield* repository.insertItem(cart.id, item, since, now), cart))
    }
    yield* trimReservation(cart.id, shop)
  }
  const rows = yield* many<repository.CartRow>(repository.cartOf(caller.id, now))
  return yield* adjusted(caller, toCart(rows, shelf, yield* reservedBy(caller, shop, now)), shop)
}

/** @throws {Problem} `invalid-request` for a product that is named again */
function assertOnce(items: NewContents['items']): void {
  const seen = new Set<string>()
  const repeated = items.flatMap(({ product }, index) => {
    const isRepeated = seen.has(product)
    seen.add(product)
    return isRepeated
      ? [{ pointer: `/items/${index}/product`, detail: 'must be in one of the items only' }]
      : []
  })
  if (repeated.length > 0) throw invalidRequest(...repeated)
}

/** `take` of the contract `cart`: see CartContract. */
export function* takeFromCart(
  caller: Caller,
  wanted: readonly CartQuantity[],
  shop: Shop = {},
  now = currentTime(),
) {
  const items = yield* repository.findItems(caller.id, now)
  const byProduct = new Map(items.map((item) => [item.product, item]))
  const present = (product: string) => byProduct.get(product)?.quantity ?? 0
  const short = wanted.filter(({ product, quantity }) => present(product) < quantity)
  if (short.length > 0)
    return { short: short.map(({ product }) => ({ product, quantity: present(product) })), taken: [] }
  const cart = yield* touchCart(caller, now)
  for (const { product, quantity } of wanted) {
    const item = byProduct.get(product) as repository.ItemRow
    if (item.quantity > quantity) {
      const left = yield* repository.updateItem({ ...item, quantity: item.quantity - quantity }, now)
      yield* emit('cart.item-changed', about(left, cart))
    } else {
      yield* repository.deleteItem(caller.id, item.id, now)
      yield* emit('cart.item-removed', about(item, cart))
    }
  }
  yield* trimReservation(cart.id, shop)
  const taken = wanted.map(({ product, quantity }) => {
    return { product, identity: byProduct.get(product)?.identity ?? null, quantity }
  })
  return { short: [], taken }
}

/** Adds to the cart of the user. The limit of items does not apply. */
export function* claimCart({ guest, user }: GuestClaim, shop: Shop = {}, now = currentTime()) {
  const cart = yield* repository.lockCart(guest, now)
  if (!cart) return
  const own = yield* repository.lockCart(user, now)
  const expiresAt = now + LIFETIME.user
  const { id, version } = yield* own
    ? mergingReservations(cart.id, own.id, () => repository.mergeCarts(cart, own, now, expiresAt), shop)
    : repository.moveCart(cart, user, now, expiresAt)
  yield* emit('cart.claimed', { subject: id, owner: user, data: { from: guest, version } })
}

const touchCart = ({ id, kind }: Caller, now: number, by?: number) =>
  repository.touchCart(id, now, now + LIFETIME[kind], by)

/** The same problem for every id: unknown, malformed, removed, or another caller's. */
function found(item: repository.ItemRow | undefined): repository.ItemRow {
  if (item) return item
  throw problem('item-not-found', 'Your cart has no item with this id: GET /cart/item lists its items.')
}

/** The event data of an item: as it is now, or as it was before its removal. */
function about(
  { id, product, identity, quantity, note }: repository.ItemRow,
  { id: subject, owner, version }: repository.CartVersion,
) {
  const meant = identity === null ? {} : { identity }
  return { subject, owner, data: { id, product, ...meant, quantity, note, version } }
}

function toItem(row: repository.ItemRow, shelf?: Shelf, reserved: readonly CartLine[] = []): CartItem {
  return {
    ...shownAs(row, shelf, reserved),
    id: row.id,
    product: row.product,
    quantity: row.quantity,
    note: row.note,
    version: row.version,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}
