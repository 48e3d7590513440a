import { byEngine, many, run, type Sql, sql, type Transaction } from '@mortise/module-sdk'

export interface FilledPurchases {
  /** The position of the newest purchase so far. */
  readonly last: number
  readonly count: number
  /** The columns, with `n` from 1 to `count`. */
  readonly id: Sql
  readonly owner: Sql
  readonly status: Sql
  /** Epoch milliseconds; 0 by default. */
  readonly at?: Sql
}

/** Adds purchases of one item at once. */
export function* fillPurchases({
  last,
  count,
  id,
  owner,
  status,
  at = sql`0`,
}: FilledPurchases): Transaction<void> {
  yield* run(sql`
    INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
    SELECT ${last} + n, ${id}, ${owner}, ${status}, 1, 1, 1, ${at}, ${at} FROM ${numbersTo(count)}`)
  yield* run(sql`
    INSERT INTO purchase_item (purchase_seq, position, id, product, quantity, taken)
    SELECT seq, 0, 'item_' || seq, 'tea', 1, 0 FROM purchase WHERE seq > ${last}`)
  yield* many(
    byEngine({
      sqlite: sql`SELECT 1`,
      postgres: sql`SELECT setval(pg_get_serial_sequence('purchase', 'seq'), (SELECT max(seq) FROM purchase))`,
    }),
  )
}

/** The numbers from 1 to `count`, as a table with the column `n`. */
export const numbersTo = (count: number) =>
  byEngine({
    sqlite: sql`(WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < ${count})
      SELECT n FROM number) AS number`,
    postgres: sql`generate_series(1, ${count}) AS number (n)`,
  })
