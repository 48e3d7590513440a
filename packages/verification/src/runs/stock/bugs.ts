import { many, run, sql } from '@mortise/module-sdk'
import type { ExpiredRow } from '../../../../api-cart/src/repository.ts'
import type { Seams } from '../../harness/seams.ts'

/** A pending purchase, and a reservation, expires after this time, in milliseconds. */
const AGE = 300
/** The time between two looks for those, on each host, in milliseconds. */
const EVERY = 100
/** How long some mistakes remember what they have read, in milliseconds. */
const MEMORY = 200

/** No mistake: what takes minutes takes moments, and hosts do it at once instead of in turn. */
export const expiresSoon = 'pending purchases and reservations expire soon'
/** The setting of the hosts. */
export const reservationMinutes = 10

/** Mistakes that the author of a catalogue, or of purchases, could make. */
export const bugs: Readonly<Record<string, Seams>> = {
  [expiresSoon]: {
    'host/modules/every-minute.everyMinute': ({ everyMinute }) =>
      function soon(app, database, name, work) {
        if (!/\/expire( reservations)?$/.test(name)) return everyMinute(app, database, name, work)
        const timer = setInterval(() => database.transaction(work).catch(() => {}), EVERY)
        app.addHook('onClose', async () => clearInterval(timer))
      },
    'api-purchase/service.expirePending':
      ({ expirePending }) =>
      (_before, ...given) =>
        expirePending(Date.now() - AGE, ...given),
    'api-cart/reservation.expireReservations':
      ({ expireReservations }) =>
      (catalog) =>
        expireReservations(catalog, Date.now() + reservationMinutes * 60_000 - AGE),
  },

  'the stock is checked early, and taken without a condition': {
    'api-product/repository.lockCatalogRows': ({ findCatalogRows }) => {
      const remembered = memory<number | null>()
      return function* (ids) {
        const rows = yield* findCatalogRows(ids)
        return rows.map((row) => ({ ...row, stock: remembered(row.product, row.stock) }))
      }
    },
    'api-product/repository.changeStock': () =>
      function* (changes, now) {
        for (const [id, change] of changes) {
          yield* run(sql`
            UPDATE product SET stock = CASE WHEN stock + ${change} < 0 THEN 0 ELSE stock + ${change} END,
              version = version + 1, updated_at = ${now}
            WHERE id = ${id}`)
        }
        return changes.size
      },
  },

  'stock is given back twice': {
    'api-purchase/repository.returnItems': ({ returnItems }) =>
      function* (seqs) {
        const items = yield* returnItems(seqs)
        for (const seq of seqs)
          yield* run(sql`UPDATE purchase_item SET taken = 1 WHERE purchase_seq = ${seq}`)
        return items
      },
  },

  'an expired reservation is given back twice': {
    'api-cart/repository.takeExpired': () =>
      function* (_limit, now) {
        const columns = sql`cart_id AS "cartId", product, quantity, expires_at AS "expiresAt"`
        const again = yield* many<ExpiredRow>(sql`
          DELETE FROM cart_reservation WHERE expires_at = 0 RETURNING ${columns}`)
        const expired = yield* many<ExpiredRow>(sql`
          UPDATE cart_reservation SET expires_at = 0 WHERE expires_at <= ${now} RETURNING ${columns}`)
        return [...again, ...expired]
      },
  },

  'a purchase takes what is reserved once more': {
    'api-cart/reservation.takeReserved': ({ takeReserved }) =>
      function* (...given) {
        yield* takeReserved(...given)
        return []
      },
  },

  'a total comes from a stale price': {
    'api-product/catalog.takeStock': ({ takeStock }) => {
      const remembered = memory<{ amount: number; currency: string }>()
      return function* (...given) {
        const { products, short } = yield* takeStock(...given)
        const stale = products.map((each) => ({ ...each, price: remembered(each.product, each.price) }))
        return { products: stale, short }
      }
    },
  },

  // The last one, because a server counts a deadlock up to a second later.
  'products are locked in any order': {
    'api-product/repository.lockCatalogRows': ({ lockCatalogRows }) => {
      let calls = 0
      return function* (ids) {
        calls += 1
        const rows = []
        for (const id of calls % 2 === 0 ? ids : ids.toReversed())
          rows.push(...(yield* lockCatalogRows([id])))
        return rows
      }
    },
  },
}

/** Only one transaction at a time writes to SQLite, so none waits for another one there. */
export const onPostgres = ['products are locked in any order']
/** Those that a slice plants. */
export const inSlice = ['stock is given back twice', 'an expired reservation is given back twice']

/** Returns what it was given for an id a moment ago. */
function memory<Value>() {
  const known = new Map<string, { value: Value; until: number }>()
  return (id: string, value: Value): Value => {
    const now = Date.now()
    const before = known.get(id)
    if (before !== undefined && now < before.until) return before.value
    known.set(id, { value, until: now + MEMORY })
    return value
  }
}
