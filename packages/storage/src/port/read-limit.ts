import { DatabaseError } from '@mortise/module-sdk/transaction'

/** Row limit of a read: a module that handles more rows at once keeps all callers waiting. */
export const MOST_ROWS = 100_000

/** @throws {DatabaseError} `refused` for a read with too many rows */
export function assertFewRows(count: number, text: string): void {
  if (count <= MOST_ROWS) return
  throw new DatabaseError(
    'refused',
    `a read returns at most ${MOST_ROWS} rows: read pages with LIMIT. The statement: ${text.trim()}`,
  )
}
