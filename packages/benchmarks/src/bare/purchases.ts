import { newId, timestamp } from '@mortise/module-sdk'
import type { Static } from '@sinclair/typebox'
import type { Database } from 'better-sqlite3'
import type { BareCaller } from './callers.ts'
import type { Purchase } from './schemas.ts'

const MAX_QUANTITY = 9999

/** `POST /purchase` by hand, with the same rows as the module. */
export class BarePurchases {
  readonly #insert
  readonly #insertItem

  constructor(database: Database) {
    this.#insert = database
      .prepare<[string, string, number, number, number, number], number>(`
        INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
        VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM purchase), ?, ?, 'pending', ?, ?, 1, ?, ?)
        RETURNING seq`)
      .pluck()
    this.#insertItem = database.prepare<[number, number, string, string, number]>(
      'INSERT INTO purchase_item (purchase_seq, position, id, product, quantity, taken) VALUES (?, ?, ?, ?, ?, 0)',
    )
  }

  /** Call this in a transaction. */
  create({ owner }: BareCaller, wanted: readonly Wanted[], now: number): Static<typeof Purchase> {
    const purchase = toPurchase(wanted, now)
    const { id, itemCount, totalQuantity, items } = purchase
    const seq = this.#insert.get(id, owner, itemCount, totalQuantity, now, now) as number
    items.forEach((item, position) => {
      this.#insertItem.run(seq, position, item.id, item.product, item.quantity)
    })
    return { ...purchase, number: seq }
  }
}

export interface Wanted {
  readonly product: string
  readonly quantity: number
}

/** A product that occurs twice becomes one item. */
export function toPurchase(wanted: readonly Wanted[], now: number): Omit<Static<typeof Purchase>, 'number'> {
  const quantities = new Map<string, number>()
  for (const { product, quantity } of wanted) {
    const sum = (quantities.get(product) ?? 0) + quantity
    if (sum > MAX_QUANTITY) throw new Error(`more than ${MAX_QUANTITY} of one product`)
    quantities.set(product, sum)
  }
  const priced = { note: null, name: null, unitPrice: null, lineTotal: null }
  const items = Array.from(quantities, ([product, quantity]) => ({
    id: newId('item'),
    product,
    quantity,
    ...priced,
  }))
  return {
    id: newId('purchase'),
    status: 'pending',
    itemCount: items.length,
    totalQuantity: wanted.reduce((sum, { quantity }) => sum + quantity, 0),
    total: null,
    note: null,
    reference: null,
    version: 1,
    createdAt: timestamp(now),
    updatedAt: timestamp(now),
    items,
  }
}
