import { byEngine, type Sql, sql } from '@mortise/module-sdk/sql'

/** Epoch milliseconds by the clock that all hosts share. */
export const now = byEngine({
  sqlite: sql`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql`CAST(extract(epoch FROM now()) * 1000 AS BIGINT)`,
})

/** How much the clocks of two concurrent transactions may differ, in milliseconds. */
export const TOLERANCE = 1_000

/**
 * Whether the time `until` is still ahead. If it is more than `term` milliseconds ahead, a wrong
 * clock wrote it, and it counts as expired.
 */
export const lasts = (until: Sql, term: number): Sql =>
  sql`(${until} > ${now} AND ${until} <= ${now} + ${term + TOLERANCE})`
