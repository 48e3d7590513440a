import { byEngine, type Sql, sql } from '@mortise/module-sdk'

/** Epoch milliseconds by the one clock that all hosts share. */
export const now = byEngine({
  sqlite: sql`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql`CAST(extract(epoch FROM now()) * 1000 AS BIGINT)`,
})

/** How far two transactions at the same time may disagree about the time, in milliseconds. */
export const TOLERANCE = 1_000

/**
 * Whether what lasts until `until` lasts still. A clock that was ahead wrote what lies further ahead than `term`
 * milliseconds: it has expired.
 */
export const lasts = (until: Sql, term: number): Sql =>
  sql`(${until} > ${now} AND ${until} <= ${now} + ${term + TOLERANCE})`
