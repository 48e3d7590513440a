import { currentTime } from './current-time.ts'
import { DAY } from './forms.ts'
import { identifier, join, sql } from './sql.ts'
import { many, run, type Transaction } from './transaction.ts'

/** The most rows that one run deletes, which keeps transactions short: their pages are scattered. */
const AT_ONCE = 50

/** A table with parts of the rows, which are deleted with them. */
export interface Parts {
  /** Needs the column `id`. */
  readonly table: string
  /** Its column with the id of the row. */
  readonly of: string
}

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
 * @param parts are deleted first, in runs of their own if there are many
 * @returns whether there may be more to do
 */
export function* deleteExpired(table: string, parts?: Parts, now = currentTime()): Transaction<boolean> {
  const rows = identifier(table)
  const due = yield* many<{ id: string }>(
    sql`SELECT id FROM ${rows} WHERE expiry_day < ${expiryDay(now)} ORDER BY expiry_day LIMIT ${AT_ONCE}`,
  )
  if (due.length === 0) return false
  const ids = join(due.map(({ id }) => sql`${id}`))
  if (parts !== undefined) {
    const [partsTable, of] = [identifier(parts.table), identifier(parts.of)]
    const deleted = yield* run(sql`
      DELETE FROM ${partsTable} WHERE id IN (
        SELECT part.id FROM ${partsTable} AS part JOIN ${rows} AS whole ON whole.id = part.${of}
        WHERE whole.id IN (${ids}) AND whole.expires_at <= ${now} LIMIT ${AT_ONCE})`)
    if (deleted === AT_ONCE) return true
  }
  yield* run(sql`DELETE FROM ${rows} WHERE id IN (${ids}) AND expires_at <= ${now}`)
  yield* run(sql`UPDATE ${rows} SET expiry_day = expires_at / ${DAY} WHERE id IN (${ids})`)
  return due.length === AT_ONCE
}
