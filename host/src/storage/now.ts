import { byEngine, sql } from '@mortise/module-sdk'

/** Epoch milliseconds by the one clock that all hosts share. */
export const now = byEngine({
  sqlite: sql`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql`CAST(extract(epoch FROM now()) * 1000 AS BIGINT)`,
})
