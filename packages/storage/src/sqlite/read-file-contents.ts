import { COUNTED, FORMS, putAside, tableNames } from '../archive/portable-file.ts'
import { quoted } from '../port/quoted.ts'
import type { DatabaseContents } from '../port/storage.ts'
import { Connection } from './connection.ts'
import { openBeside } from './open-connections.ts'
import { readLedger } from './schema.ts'

/** See `readContents`; of a copy of a PostgreSQL database too. */
export function readFileContents(file: string): DatabaseContents {
  const database = openBeside(file)
  try {
    const tables = tableNames(database).filter(
      (name) => name !== 'mortise_migration' && name !== FORMS && name !== COUNTED,
    )
    const count = (table: string) =>
      database
        .prepare(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get()
    return {
      ledger: readLedger(new Connection(database)),
      rows: Object.fromEntries(tables.map((table) => [putAside(table) ?? table, count(table) as number])),
    }
  } finally {
    database.close()
  }
}
