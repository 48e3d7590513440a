import { byEngine, one, sql, type Transaction } from '@mortise/module-sdk'

/** The time, in epoch milliseconds. */
export type Clock = () => Transaction<number>

const now = byEngine({
  sqlite: sql`SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now`,
  postgres: sql`SELECT CAST(extract(epoch FROM now()) * 1000 AS BIGINT) AS now`,
})

/** The database's clock, which all hosts share. */
export function* databaseClock(): Transaction<number> {
  return (yield* one<{ now: number }>(now)).now
}
