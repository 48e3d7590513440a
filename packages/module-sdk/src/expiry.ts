import { DAY } from './forms.ts'
import { identifier, join, sql } from './sql.ts'
import { many, run, type Transaction } from './transaction.ts'

/** The most rows that one run deletes, which keeps transactions short. */
const AT_ONCE = 100

/** The value of the column `expiry_day` for a new row: see `deleteExpired`. */
export const expiryDay = (expiresAt: number) => Math.floor(expiresAt / DAY)

/**
 * Deletes expired rows of a table, as work for `everyMinute`. It works by the day, not by the
 * minute: queries must leave out rows whose `expires_at` is past.
 *
 * The table needs the columns `id`, `expires_at` (epoch milliseconds) and `expiry_day` (BIGINT,
 * indexed), the day to look at the row again. A change that extends `expires_at` leaves
 * `expiry_day` alone. An index on `expires_at` would cost a write for every change, and on
 * PostgreSQL it would make changes of different rows conflict.
 *
 * @returns whether there may be more to do
 */
export function* deleteExpired(table: string, now = Date.now()): Transaction<boolean> {
  const rows = identifier(table)
  const due = yield* many<{ id: string }>(
    sql`SELECT id FROM ${rows} WHERE expiry_day < ${expiryDay(now)} ORDER BY expiry_day LIMIT ${AT_ONCE}`,
  )
  if (due.length === 0) return false
  const ids = join(due.map(({ id }) => sql`${id}`))
  yield* run(sql`DELETE FROM ${rows} WHERE id IN (${ids}) AND expires_at <= ${now}`)
  yield* run(sql`UPDATE ${rows} SET expiry_day = expires_at / ${DAY} WHERE id IN (${ids})`)
  return due.length === AT_ONCE
}
