import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { runAll } from '../migrations/migrate.ts'
import type { MigrationFile } from '../migrations/migration-files.ts'
import { drive } from '../port/steps.ts'
import type { MigrationSet } from '../port/storage.ts'
import type { Column, Table } from './describe-tables.ts'

/** The limit for migrations on an empty database: 256 MiB, in pages of 4 KiB. */
const PAGES = 65_536

/**
 * The tables that migrations create on an empty database, by name.
 * @throws {MigrationError}
 */
export function tablesOnEmptyDatabase(set: MigrationSet, files: readonly MigrationFile[]): Table[] {
  const database = openDatabase(':memory:')
  try {
    database.pragma(`max_page_count = ${PAGES}`)
    database.pragma('foreign_keys = OFF')
    drive(
      () => runAll(set, files),
      (text) => database.exec(text as string),
      () => false,
    )
    const names = database
      .prepare(
        `SELECT name FROM pragma_table_list
        WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT GLOB 'sqlite_*' ORDER BY name`,
      )
      .pluck()
      .all() as string[]
    return names.map((name) => ({ name, columns: columnsOf(database, name) }))
  } finally {
    database.close()
  }
}

function columnsOf(database: SqliteDatabase.Database, table: string): Column[] {
  const columns = database
    .prepare(
      `SELECT name, type, "notnull" AS strict, dflt_value AS fallback, pk, hidden FROM pragma_table_xinfo(?)
      WHERE hidden <> 1`,
    )
    .all(table) as {
    name: string
    type: string
    strict: number
    fallback: unknown
    pk: number
    hidden: number
  }[]
  return columns.map(({ name, type, strict, fallback, pk, hidden }) => {
    // SQLite numbers rows itself; a computed (hidden) column takes no value at all.
    const isNumbered = pk === 1 && type.toUpperCase() === 'INTEGER'
    return { name, type, required: strict === 1 && fallback === null && hidden === 0 && !isNumbered }
  })
}
