import { COUNTED, DIALECTS, storeExtraTable, tableNames } from '../archive/portable-file.ts'
import { quoted } from '../port/quoted.ts'
import type { DatabaseContents } from '../port/storage.ts'
import { Connection } from './connection.ts'
import { openSeparate } from './open-connections.ts'
import { readLedger } from './schema.ts'

/** See `readContents`; also for a copy of a PostgreSQL database. */
export function readFileContents(file: string): DatabaseContents {
  const database = openSeparate(file)
  try {
    const tables = tableNames(database).filter(
      (name) => name !== 'mortise_migration' && name !== DIALECTS && name !== COUNTED,
    )
    const rows: Record<string, number> = {}
    for (const table of tables) {
      const count = database
        .prepare(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get() as number
      // A table with other columns on PostgreSQL is in the file twice, and empty in its form for SQLite.
      const name = storeExtraTable(table) ?? table
      rows[name] = (rows[name] ?? 0) + count
    }
    return { ledger: readLedger(new Connection(database)), rows }
  } finally {
    database.close()
  }
}
