import type { LedgerEntry } from '../storage.ts'
import { Connection } from './connection.ts'
import { readLedger } from './ledger.ts'
import { quoted } from './module-data.ts'
import { openBeside } from './open-connections.ts'

/** How much a database holds. */
export interface DatabaseContents {
  readonly ledger: readonly LedgerEntry[]
  /** The number of rows by table, ledger and SQLite's own tables aside. */
  readonly rows: Readonly<Record<string, number>>
}

/**
 * Counts what is in a database file. A host may serve from it meanwhile. It takes as long as reading the smallest
 * index of each table does.
 */
export function readContents(file: string): DatabaseContents {
  const database = openBeside(file)
  try {
    const tables = database
      .prepare(
        `SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT GLOB 'sqlite_*' AND name <> 'mortise_migration'
         ORDER BY name`,
      )
      .pluck()
      .all() as string[]
    const count = (table: string) =>
      database
        .prepare(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get()
    return {
      ledger: readLedger(new Connection(database)),
      rows: Object.fromEntries(tables.map((table) => [table, count(table) as number])),
    }
  } finally {
    database.close()
  }
}
