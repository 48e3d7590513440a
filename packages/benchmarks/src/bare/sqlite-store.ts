import { BareGuests } from './callers.ts'
import { BareCart } from './cart.ts'
import { commitEach, commitGrouped } from './commit.ts'
import { openDatabase } from './open-database.ts'
import { BarePurchases } from './purchases.ts'
import type { BareStore } from './store.ts'

export interface SqliteOptions {
  /** The path of a new SQLite file. */
  readonly file: string
  /** Whether transactions share a COMMIT. */
  readonly commit: 'each' | 'grouped'
}

export function openSqliteStore({ file, commit }: SqliteOptions): BareStore {
  const database = openDatabase(file)
  const transaction = commit === 'each' ? commitEach(database) : commitGrouped(database)
  const guests = new BareGuests(database)
  const cart = new BareCart(database)
  const purchases = new BarePurchases(database)
  return {
    findGuest: (token) => guests.find(token),
    showCart: (caller) => cart.show(caller, Date.now()),
    addItem: (caller, { product, quantity }) =>
      transaction(() => {
        const now = Date.now()
        guests.keep(caller, now)
        return cart.add(caller, product, quantity, now)
      }),
    createPurchase: (caller, wanted) =>
      transaction(() => {
        const now = Date.now()
        guests.keep(caller, now)
        return purchases.create(caller, wanted, now)
      }),
    close() {
      database.close()
    },
  }
}
