import { identifier, join, sql } from './sql.ts'
import { DAY } from './time.ts'
import { many, run, type Transaction } from './transaction.ts'

/** Rows that one run takes at most, so that no transaction is a long one. */
const AT_ONCE = 100

/** What the column `expiry_day` of a new row holds: see `deleteExpired`. */
export const expiryDay = (expiresAt: number) => Math.floor(expiresAt / DAY)

/**
 * Deletes rows of a table that have expired: work for `everyMinute`, which is done by the day and not to the minute. What
 * reads the rows leaves out those whose `expires_at` is past.
 *
 * The table has columns `id`, `expires_at` (epoch milliseconds) and `expiry_day` (BIGINT, with an index): the day to look
 * at the row again. A change that puts off `expires_at` leaves `expiry_day` alone. An index on `expires_at` would be
 * written at every change, and on PostgreSQL have changes of different rows conflict.
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
