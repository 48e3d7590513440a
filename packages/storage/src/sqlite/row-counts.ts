import { Sql } from '@mortise/module-sdk'
import type SqliteDatabase from 'better-sqlite3'
import { quoted } from '../port/quoted.ts'

import type { Loop } from './read-plan.ts'

/** Rows that the event loop may go through at once. */
export const FEW_ROWS = 10_000
/** For how long a small table is taken for small, in milliseconds. */
export const SMALL_FOR = 10_000
/** For how long a large one, and what was measured of it, are taken for the same. */
const LARGE_FOR = 600_000

interface Known {
  readonly rows: number
  readonly until: number
}

/**
 * How many rows loops of a statement go through: exactly for small tables; of large ones, where an index groups them, the
 * size of the largest group as it was within the last ten minutes. Until that is measured, beside everything else, it is
 * infinite.
 */
export class RowCounts {
  readonly #database: SqliteDatabase.Database
  readonly #measure: (query: Sql) => Promise<{ readonly most: number } | undefined>
  readonly #tables = new Map<string, Known>()
  readonly #groups = new Map<string, Known>()
  #measuring = Promise.resolve()

  constructor(
    database: SqliteDatabase.Database,
    measure: (query: Sql) => Promise<{ readonly most: number } | undefined>,
  ) {
    this.#database = database
    this.#measure = measure
  }

  /** Forgets all. */
  clear(): void {
    this.#tables.clear()
    this.#groups.clear()
  }

  of({ table, columns }: Loop): number {
    const rows = this.#ofTable(table)
    return rows <= FEW_ROWS || columns.length === 0 ? rows : this.#ofGroup(table, columns)
  }

  #ofTable(table: string): number {
    const now = performance.now()
    const known = this.#tables.get(table)
    if (known !== undefined && known.until > now) return known.rows
    const counted = this.#database
      .prepare(`SELECT count(*) FROM (SELECT 1 FROM ${quoted(table)} LIMIT ${FEW_ROWS + 1})`)
      .pluck()
      .get() as number
    const isSmall = counted <= FEW_ROWS
    const rows = isSmall ? counted : Number.POSITIVE_INFINITY
    this.#tables.set(table, { rows, until: now + (isSmall ? SMALL_FOR : LARGE_FOR) })
    return rows
  }

  #ofGroup(table: string, columns: readonly string[]): number {
    const now = performance.now()
    const key = JSON.stringify([table, ...columns])
    const known = this.#groups.get(key)
    const rows = known?.rows ?? Number.POSITIVE_INFINITY
    if (known === undefined || known.until <= now) {
      this.#groups.set(key, { rows, until: now + LARGE_FOR })
      this.#measuring = this.#measuring.then(() => this.#measureGroup(key, table, columns))
    }
    return rows
  }

  async #measureGroup(key: string, table: string, columns: readonly string[]): Promise<void> {
    const names = columns.map(quoted).join(', ')
    const text = `SELECT max(size) AS most FROM (SELECT count(*) AS size FROM ${quoted(table)} GROUP BY ${names})`
    // Where it cannot be measured it is taken for large, and measured when that is due again.
    const found = await this.#measure(new Sql([text], [])).catch(() => undefined)
    const known = this.#groups.get(key)
    if (known !== undefined && found !== undefined)
      this.#groups.set(key, { rows: found.most ?? 0, until: known.until })
  }
}
