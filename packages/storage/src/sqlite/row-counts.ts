import { Sql } from '@mortise/module-sdk/sql'
import type SqliteDatabase from 'better-sqlite3'
import { quoted } from '../port/quoted.ts'

import type { Loop } from './read-plan.ts'

/** Rows that the event loop may read at once. */
export const FEW_ROWS = 10_000
/** How long a small table counts as small, in milliseconds. */
export const SMALL_FOR = 10_000
/** How long a large table, and its measurements, stay valid, in milliseconds. */
const LARGE_FOR = 600_000

interface Known {
  readonly rows: number
  readonly until: number
}

/**
 * The number of rows that the loops of a statement read: exact for small tables; for large ones,
 * grouped by an index, the size of the largest group within the last ten minutes. It is infinite
 * until the background measurement ends.
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
    // A table that cannot be measured counts as large until the next measurement.
    const found = await this.#measure(new Sql([text], [])).catch(() => undefined)
    const known = this.#groups.get(key)
    if (known !== undefined && found !== undefined)
      this.#groups.set(key, { rows: found.most ?? 0, until: known.until })
  }
}
