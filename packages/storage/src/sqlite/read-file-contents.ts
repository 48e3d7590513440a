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
    const count = (table: string) =>
      database
        .prepare(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get()
    return {
      ledger: readLedger(new Connection(database)),
      rows: Object.fromEntries(
        tables.map((table) => [storeExtraTable(table) ?? table, count(table) as number]),
      ),
    }
  } finally {
    database.close()
  }
}
