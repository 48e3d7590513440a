import type { CartContract } from '@mortise/api-cart/contract'
import type { CatalogContract, PricingContract } from '@mortise/api-product/contract'
import {
  type Audit,
  type Caller,
  type CursorPage,
  currentTime,
  type Deleted,
  type GuestClaim,
  insufficientScope,
  invalidRequest,
  type Money,
  newId,
  type Page,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { emit, problem } from './module.ts'
import * as repository from './repository.ts'
import { adjust, assertExpected, giveBack, sell, type Wanted } from './sale.ts'
import {
  MAX_QUANTITY,
  type NewPurchase,
  type Purchase,
  type PurchaseItem,
  type PurchaseQuery,
  type PurchaseSummary,
} from './schemas.ts'
import { callersTransitions, deletable, givesBack, type Status, statuses, transitions } from './status.ts'

/**
 * The rules of purchases. A caller sees their own; `purchase:read` and `purchase:manage` see
 * everyone's. A purchase that the caller may not see is 404 for every operation.
 */

/** The most purchases that one run of `expirePending` expires, which keeps transactions short. */
const EXPIRED_AT_ONCE = 50

const seesEveryones = (caller: Caller) => caller.has('purchase:read') || caller.has('purchase:manage')
/** The owner of the purchases that the caller sees. */
const visibleTo = (caller: Caller) => (seesEveryones(caller) ? repository.EVERYONE : caller.id)

/** The contracts of other modules; undefined if none provides them. */
export interface Others {
  readonly cart?: CartContract | undefined
  readonly catalog?: CatalogContract | undefined
  readonly pricing?: PricingContract | undefined
}

export function* createPurchase(
  caller: Caller,
  { items, takeFromCart, note, reference, expectedTotal }: NewPurchase,
  { cart, catalog, pricing }: Others,
  now = currentTime(),
): Transaction<Purchase> {
  const merged = mergeItems(items)
  const held = catalog && cart?.takeReserved ? yield* cart.takeReserved(caller, merged) : []
  const wanted = takeFromCart ? yield* takeAll(caller, merged, cart) : merged
  const { sold, total: before } = yield* sell(wanted, held, catalog)
  const { total, adjustments } = yield* adjust(caller, sold, before, pricing)
  assertExpected(total, expectedTotal)
  const purchase: repository.NewRow = {
    id: newId('purchase'),
    owner: caller.id,
    status: 'pending',
    items: sold.map((item) => ({ id: newId('item'), ...item })),
    itemCount: merged.length,
    totalQuantity: items.reduce((sum, { quantity }) => sum + quantity, 0),
    total: total?.amount ?? null,
    currency: total?.currency ?? null,
    adjustments: adjustments && JSON.stringify(adjustments),
    note: note ?? null,
    reference: reference ?? null,
    version: 1,
    createdAt: now,
    updatedAt: now,
  }
  const seq = yield* repository.insertPurchase(purchase)
  const created = toPurchase({ ...purchase, seq }, caller)
  yield* emit('purchase.created', { subject: purchase.id, owner: purchase.owner, data: created })
  return created
}

export function* showPurchase(caller: Caller, id: string): Transaction<Purchase> {
  return toPurchase(yield* find(caller, id), caller)
}

export function* listItems(caller: Caller, id: string): Transaction<PurchaseItem[]> {
  return itemsOf(yield* find(caller, id))
}

/**
 * The caller's list, or with `purchase:read` the list of `query.owner`. Read it in a snapshot. A
 * reader of everyone's purchases may continue after any purchase: it may come from a guest's list,
 * and belong to a user now.
 */
export function* listPurchases(
  caller: Caller,
  query: PurchaseQuery,
): Transaction<Page<PurchaseSummary> | CursorPage<PurchaseSummary>> {
  const { createdAfter, createdBefore, product, number } = query
  const listed = {
    owner: ownerOf(caller, query),
    statuses: chosenStatuses(query),
    reader: visibleTo(caller),
    after: createdAfter === undefined ? undefined : Date.parse(createdAfter),
    before: createdBefore === undefined ? undefined : Date.parse(createdBefore),
    product,
    number,
  }
  if (query.expand === undefined) {
    return yield* repository.listPurchases(query, listed, (row) => toSummary(row, caller))
  }
  const page = yield* repository.listPurchases(query, listed, (row) => row)
  const items = yield* repository.findItems(page.data.map(({ seq }) => seq))
  const toExpanded = (row: repository.PurchaseRow) =>
    toPurchase({ ...row, items: items.get(row.seq) ?? [] }, caller)
  return { ...page, data: page.data.map(toExpanded) }
}

/** Checks in this order: 404, 409, 403. */
export function* changeStatus(
  caller: Caller,
  id: string,
  status: Status,
  audit: Audit,
  catalog?: CatalogContract,
  now = currentTime(),
): Transaction<Purchase> {
  const purchase = yield* find(caller, id)
  const actor = transitions[purchase.status][status]
  if (actor === undefined || actor === 'host') throw illegalTransition(purchase.status, status)
  const may = caller.has('purchase:manage') || (actor === 'owner' && purchase.owner === caller.id)
  if (!may) throw insufficientScope('purchase:manage', `make a ${purchase.status} purchase ${status}`)
  const changed = yield* become(purchase, status, audit, now)
  if (givesBack.has(status)) yield* giveBack([purchase.seq], catalog)
  return toPurchase(changed, caller)
}

export function* removePurchase(
  caller: Caller,
  id: string,
  audit: Audit,
  catalog?: CatalogContract,
  now = currentTime(),
): Transaction<Deleted> {
  const purchase = yield* find(caller, id)
  if (purchase.owner !== caller.id && !caller.has('admin')) {
    throw insufficientScope('admin', "delete another caller's purchase")
  }
  if (!deletable.has(purchase.status)) {
    throw problem(
      'not-deletable',
      `This purchase is ${purchase.status}; only a purchase that is ${[...deletable].join(' or ')} can be deleted.`,
    )
  }
  yield* repository.deletePurchase(purchase, now)
  yield* giveBack([purchase.seq], catalog)
  const { status, itemCount, totalQuantity, total } = toSummary(purchase, caller)
  yield* audit({
    action: 'purchase.deleted',
    object: id,
    details: { status, itemCount, totalQuantity, total },
  })
  yield* emit('purchase.deleted', { subject: id, owner: purchase.owner, data: { status } })
  return { id, deleted: true }
}

/** Expires the oldest pending purchases made before `before`. Returns whether there may be more. */
export function* expirePending(
  before: number,
  audit: Audit,
  catalog?: CatalogContract,
  now = currentTime(),
): Transaction<boolean> {
  const pending = yield* repository.oldest('pending', EXPIRED_AT_ONCE)
  const due = pending.filter((purchase) => purchase.createdAt < before)
  for (const purchase of due) yield* become(purchase, 'expired', audit, now)
  yield* giveBack(
    due.map(({ seq }) => seq),
    catalog,
  )
  return due.length === EXPIRED_AT_ONCE
}

export function* claimPurchases({ guest, user }: GuestClaim, now = currentTime()): Transaction<void> {
  for (const { id, version } of yield* repository.movePurchases(guest, user, now)) {
    yield* emit('purchase.claimed', { subject: id, owner: user, data: { from: guest, version } })
  }
}

/** Changes the status, records it in the audit trail and emits the event. */
function* become<Row extends repository.PurchaseRow>(
  purchase: Row,
  status: Status,
  audit: Audit,
  now: number,
): Transaction<Row> {
  const { id, owner, status: from } = purchase
  yield* audit({ action: `purchase.${status}`, object: id, details: { from } })
  const changed = yield* repository.updateStatus(purchase, status, now)
  const { version } = changed
  yield* emit('purchase.status-changed', { subject: id, owner, data: { status, from, version } })
  return changed
}

/** The same problem for every id: unknown, malformed, deleted, or another caller's. */
function* find(caller: Caller, id: string): Transaction<repository.PurchaseWithItems> {
  const purchase = yield* repository.findPurchase(id, visibleTo(caller))
  if (purchase) return purchase
  throw problem(
    'purchase-not-found',
    'You have no purchase with this id: GET /purchase lists your purchases.',
  )
}

/** The owner of the listed purchases. */
function ownerOf(caller: Caller, { owner }: PurchaseQuery): string {
  if (owner !== undefined && !seesEveryones(caller)) {
    throw insufficientScope('purchase:read', "list other callers' purchases")
  }
  return owner ?? caller.id
}

/** The same items, each with the product that the cart means by it. */
function* takeAll(
  caller: Caller,
  merged: readonly Wanted[],
  cart: CartContract | undefined,
): Transaction<Wanted[]> {
  if (!cart) {
    throw problem(
      'cart-unavailable',
      'No installed module has carts, so nothing was purchased: leave out takeFromCart.',
    )
  }
  const quantities = merged.map(({ product, quantity }) => ({ product, quantity }))
  const { short, taken } = yield* cart.take(caller, quantities)
  if (short.length > 0) {
    throw problem(
      'cart-changed',
      'Your cart has less of the products in `short` than the purchase, so nothing was purchased: get the cart, then decide.',
      { members: { short } },
    )
  }
  const identities = new Map(taken.map(({ product, identity }) => [product, identity]))
  return merged.map((item) => ({ ...item, identity: identities.get(item.product) ?? null }))
}

/** The schema has validated the text. The order is that of `statuses`. */
function chosenStatuses({ status: text }: PurchaseQuery): Status[] | undefined {
  if (text === undefined) return undefined
  const chosen = new Set(text.split(','))
  return statuses.filter((status) => chosen.has(status))
}

/** One item for each product, in the order of first mention. */
function mergeItems(items: NewPurchase['items']): Wanted[] {
  const merged = new Map<string, Wanted>()
  const tooMany = items.flatMap(({ product, quantity, note }, index) => {
    const same = merged.get(product)
    const sum = (same?.quantity ?? 0) + quantity
    merged.set(product, { product, quantity: sum, note: note ?? same?.note ?? null })
    const detail = `with the other items of this product the sum is ${sum}, and the maximum is ${MAX_QUANTITY}`
    return sum > MAX_QUANTITY ? [{ pointer: `/items/${index}/quantity`, detail }] : []
  })
  if (tooMany.length > 0) throw invalidRequest(...tooMany)
  return [...merged.values()]
}

function illegalTransition(from: Status, to: Status) {
  const allowed = callersTransitions[from] ?? []
  const next = allowed.length > 0 ? `it can become ${allowed.join(' or ')}` : 'its status is final'
  return problem('illegal-transition', `This purchase is ${from} and cannot become ${to}: ${next}.`, {
    members: { allowed },
  })
}

function toSummary(row: repository.PurchaseRow, caller: Caller): PurchaseSummary {
  return { ...shownToAll(row), ...ownerFor(row, caller) }
}

/** In the order of the response, so that the event data equals it byte for byte. */
function toPurchase(purchase: repository.PurchaseWithItems, caller: Caller): Purchase {
  const adjustments = purchase.adjustments !== null && { adjustments: JSON.parse(purchase.adjustments) }
  return { ...shownToAll(purchase), items: itemsOf(purchase), ...ownerFor(purchase, caller), ...adjustments }
}

function shownToAll(row: repository.PurchaseRow): Omit<PurchaseSummary, 'owner' | 'items'> {
  return {
    id: row.id,
    number: row.seq,
    status: row.status,
    itemCount: row.itemCount,
    totalQuantity: row.totalQuantity,
    total: moneyOf(row.total, row.currency),
    note: row.note,
    reference: row.reference,
    version: row.version,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}

const ownerFor = ({ owner }: { owner: string }, caller: Caller) => seesEveryones(caller) && { owner }

/** The total of a line is part of the total, so it is no larger. */
const itemsOf = ({ items, currency }: repository.PurchaseWithItems): PurchaseItem[] =>
  items.map(({ id, product, identity, quantity, note, name, unitPrice }) => ({
    id,
    product,
    quantity,
    note,
    name,
    unitPrice: moneyOf(unitPrice, currency),
    lineTotal: moneyOf(unitPrice === null ? null : unitPrice * quantity, currency),
    // Where the response has it, so that the event is the response to the byte.
    ...(identity !== null && { identity }),
  }))

const moneyOf = (amount: number | null, currency: string | null): Money | null =>
  amount === null || currency === null ? null : { amount, currency }
