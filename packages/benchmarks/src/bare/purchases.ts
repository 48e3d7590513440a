import { newId, timestamp } from '@mortise/module-sdk'
import type { Database } from 'better-sqlite3'
import type { BareCaller } from './callers.ts'

/** Purchases per block of the counts that page the list: those of the module's ranked list. */
const WIDTH = 64
const MAX_QUANTITY = 9999

/** `POST /purchase` by hand, with the rows that the module writes. */
export class BarePurchases {
  readonly #insert
  readonly #insertItem
  readonly #count

  constructor(database: Database) {
    this.#insert = database
      .prepare<[string, string, number, number, number, number], number>(`
        INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
        VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM purchase), ?, ?, 'pending', ?, ?, 1, ?, ?)
        RETURNING seq`)
      .pluck()
    this.#insertItem = database.prepare<[number, number, string, string, number]>(
      'INSERT INTO purchase_item (purchase_seq, position, id, product, quantity) VALUES (?, ?, ?, ?, ?)',
    )
    this.#count = database.prepare<[number, number, number]>(`
      INSERT INTO purchase_rank (level, block, list, count)
      VALUES (1, ?, 'pending', 1), (2, ?, 'pending', 1), (3, ?, 'pending', 1)
      ON CONFLICT (level, block, list) DO UPDATE SET count = purchase_rank.count + 1`)
  }

  /** Inside a transaction. */
  create({ owner }: BareCaller, wanted: readonly { product: string; quantity: number }[], now: number) {
    const quantities = new Map<string, number>()
    for (const { product, quantity } of wanted) {
      const sum = (quantities.get(product) ?? 0) + quantity
      if (sum > MAX_QUANTITY) throw new Error(`more than ${MAX_QUANTITY} of one product`)
      quantities.set(product, sum)
    }
    const id = newId('purchase')
    const totalQuantity = wanted.reduce((sum, { quantity }) => sum + quantity, 0)
    const seq = this.#insert.get(id, owner, quantities.size, totalQuantity, now, now) as number
    const items = Array.from(quantities, ([product, quantity], position) => {
      const item = { id: newId('item'), product, quantity, name: null, unitPrice: null, lineTotal: null }
      this.#insertItem.run(seq, position, item.id, product, quantity)
      return item
    })
    this.#count.run(Math.floor(seq / WIDTH), Math.floor(seq / WIDTH ** 2), Math.floor(seq / WIDTH ** 3))
    const time = timestamp(now)
    return {
      id,
      status: 'pending',
      itemCount: items.length,
      totalQuantity,
      total: null,
      version: 1,
      createdAt: time,
      updatedAt: time,
      items,
    }
  }
}
