import { DatabaseError } from '@mortise/module-sdk'

/** How many rows a read answers at most: a module that handles more of them at once keeps all callers waiting. */
export const MOST_ROWS = 100_000

/** @throws {DatabaseError} `refused` where a read answers more rows than it may */
export function assertFewRows(count: number, text: string): void {
  if (count <= MOST_ROWS) return
  throw new DatabaseError(
    'refused',
    `a read answers ${MOST_ROWS} rows at most: read them in pages, with LIMIT. The statement: ${text.trim()}`,
  )
}
