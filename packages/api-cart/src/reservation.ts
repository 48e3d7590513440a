import type { CatalogContract } from '@mortise/api-product/contract'
import { type Caller, currentTime, type Transaction, timestamp } from '@mortise/module-sdk'
import type { CartLine, CartQuantity } from './contract.ts'
import { problem } from './module.ts'
import * as repository from './repository.ts'
import type { Reservation } from './schemas.ts'
import { assertForSale, isSame, reserving, type Shop } from './shelf.ts'

/**
 * A reservation holds stock for the lines of a cart: it has been taken from the catalogue. It never
 * has more than the lines. Its rows are deleted in the transaction that gives their stock back or
 * sells it, so that this happens once, whatever races. Every transaction locks the cart first, then
 * the reservation, then products.
 */

/** Takes the stock of all lines, or of none. Repeating it renews what is reserved. */
export function* reserve(caller: Caller, shop: Shop, now = currentTime()): Transaction<Reservation> {
  const catalog = reserving(shop)
  if (!catalog) throw problem('reservation-unavailable')
  const cart = yield* repository.lockCart(caller.id, now)
  const lines = cart ? yield* repository.quantitiesIn(cart.id) : []
  if (!cart || lines.length === 0) throw problem('cart-empty')
  const { within, beyond } = split(yield* repository.takeReservation(cart.id), lines)
  const { products, short } = yield* catalog.take(lines, within)
  const byId = new Map(products.map((product) => [product.product, product]))
  assertForSale(lines, byId)
  if (short.length > 0) {
    throw problem(
      'out-of-stock',
      'There is too little of the products in `short`, so nothing was reserved: lower the lines to their `stock`.',
      { members: { short } },
    )
  }
  // The lines were changed while there was no catalogue.
  if (beyond.length > 0) yield* catalog.giveBack(beyond)
  const limited = lines.flatMap(({ product, quantity }) => {
    const found = byId.get(product)
    return found && found.stock !== null ? [{ product, identity: found.identity, quantity }] : []
  })
  const expiresAt = now + (shop.reservationMinutes as number) * 60_000
  yield* repository.insertReservation(cart.id, limited, expiresAt)
  return {
    expiresAt: timestamp(expiresAt),
    items: limited.map(({ product, quantity }) => ({ product, quantity })),
  }
}

/** Gives back what the lines of a cart do not have any more. */
export function* trimReservation(cartId: string, shop: Shop): Transaction<void> {
  const catalog = reserving(shop)
  if (catalog) yield* keep(cartId, yield* repository.takeReservation(cartId), catalog)
}

/** Merges the lines of two carts by `merge`, and what they have reserved into that of `into`. */
export function* mergingReservations<Result>(
  from: string,
  into: string,
  merge: () => Transaction<Result>,
  shop: Shop,
): Transaction<Result> {
  const catalog = reserving(shop)
  if (!catalog) return yield* merge()
  const reserved = [
    ...(yield* repository.takeReservation(from)),
    ...(yield* repository.takeReservation(into)),
  ]
  const merged = yield* merge()
  yield* keep(into, reserved, catalog)
  return merged
}

function* keep(
  cartId: string,
  reserved: readonly repository.Reserved[],
  catalog: CatalogContract,
): Transaction<void> {
  if (reserved.length === 0) return
  const { within, beyond } = split(reserved, yield* repository.quantitiesIn(cartId))
  yield* repository.insertReservation(cartId, within, expiryOf(reserved))
  if (beyond.length > 0) yield* catalog.giveBack(beyond)
}

/** The contract `cart`: see CartContract. */
export function* takeReserved(
  caller: Caller,
  wanted: readonly CartQuantity[],
  now = currentTime(),
): Transaction<CartLine[]> {
  const cart = yield* repository.lockCart(caller.id, now)
  const reserved = cart ? yield* repository.takeReservation(cart.id) : []
  if (!cart || reserved.length === 0) return []
  const { within, beyond } = split(reserved, wanted)
  yield* repository.insertReservation(cart.id, beyond, expiryOf(reserved))
  return within
}

/** The most rows that one run of `expireReservations` takes, which keeps transactions short. */
const EXPIRED_AT_ONCE = 100

/** Gives back what has expired. Returns whether there may be more. */
export function* expireReservations(catalog: CatalogContract, now = currentTime()): Transaction<boolean> {
  const expired = yield* repository.takeExpired(EXPIRED_AT_ONCE, now)
  if (expired.length > 0) yield* catalog.giveBack(expired)
  return expired.length === EXPIRED_AT_ONCE
}

const expiryOf = (reserved: readonly repository.Reserved[]) =>
  Math.max(...reserved.map(({ expiresAt }) => expiresAt))

/**
 * Splits quantities at `limits`, by product: what is within, and the rest. Of two products that had one
 * id, one is within its limit at most.
 */
function split(
  quantities: readonly repository.CatalogLine[],
  limits: readonly (CartQuantity & Partial<CartLine>)[],
) {
  const limitOf = new Map(limits.map((limit) => [limit.product, limit]))
  const sums = new Map<string, repository.CatalogLine>()
  for (const { product, identity, quantity } of quantities) {
    const key = JSON.stringify([product, identity])
    sums.set(key, { product, identity, quantity: (sums.get(key)?.quantity ?? 0) + quantity })
  }
  const parts = Array.from(sums.values(), (sum) => {
    const limit = limitOf.get(sum.product)
    const most = limit && isSame(sum, limit) ? limit.quantity : 0
    if (most > 0) limitOf.delete(sum.product)
    const within = Math.min(sum.quantity, most)
    return { within: { ...sum, quantity: within }, beyond: { ...sum, quantity: sum.quantity - within } }
  })
  const some = (part: 'within' | 'beyond') =>
    parts.map((each) => each[part]).filter(({ quantity }) => quantity > 0)
  return { within: some('within'), beyond: some('beyond') }
}
