import { sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { runAll } from '../migrations/migrate.ts'
import type { MigrationFile } from '../migrations/migration-files.ts'
import type { TablePart } from '../migrations/table-parts.ts'
import { MigrationError } from '../port/errors.ts'
import { drive } from '../port/steps.ts'
import type { MigrationSet } from '../port/storage.ts'
import { assertAborts } from './assert-aborts.ts'
import type { Column, Table } from './describe-tables.ts'
import { runStatements } from './run-statements.ts'

/** The limit for migrations on an empty database: 256 MiB, in pages of 4 KiB. */
const PAGES = 65_536

/** Of all tables, also those of others. */
export const tableParts = sql`
  SELECT name AS "table", 'table' AS part, type AS details FROM sqlite_schema
  WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'
  UNION ALL
  SELECT own.name, printf('column "%s"', col.name),
    trim(upper(col.type) || iif(col."notnull", ' NOT NULL', '') || iif(col.pk > 0, ' PRIMARY KEY', ''))
  FROM sqlite_schema AS own, pragma_table_xinfo(own.name) AS col
  WHERE own.type = 'table' AND own.name NOT GLOB 'sqlite_*'
  UNION ALL
  SELECT own.name, printf('index "%s"', idx.name), iif(idx."unique", 'unique', 'not unique')
  FROM sqlite_schema AS own, pragma_index_list(own.name) AS idx
  WHERE own.type = 'table' AND idx.name NOT GLOB 'sqlite_*'
  UNION ALL
  SELECT tbl_name, printf('trigger "%s"', name), sql FROM sqlite_schema WHERE type = 'trigger'
  UNION ALL
  SELECT name, 'definition', sql FROM sqlite_schema WHERE type = 'view'`

/**
 * The tables that migrations create on an empty database, by name.
 * @throws {MigrationError}
 */
export const tablesOnEmptyDatabase = (set: MigrationSet, files: readonly MigrationFile[]) =>
  onEmptyDatabase(set, files, tablesIn)

/** The same, in all their parts. */
export const partsOnEmptyDatabase = (set: MigrationSet, files: readonly MigrationFile[]) =>
  onEmptyDatabase(
    set,
    files,
    (database) => database.prepare(tableParts.strings.join('')).all() as TablePart[],
  )

function onEmptyDatabase<Found>(
  set: MigrationSet,
  files: readonly MigrationFile[],
  look: (database: SqliteDatabase.Database) => Found,
): Found {
  const database = openDatabase(':memory:')
  try {
    database.pragma(`max_page_count = ${PAGES}`)
    database.pragma('foreign_keys = OFF')
    drive(
      () => runAll(set, files),
      (text) => runStatements(database, text as string),
      () => false,
    )
    database.pragma('foreign_keys = ON')
    assertAborts(database)
    const found = look(database)
    assertOwnDowns(database, set, files)
    return found
  } finally {
    database.close()
  }
}

function tablesIn(database: SqliteDatabase.Database): Table[] {
  const names = database
    .prepare(
      `SELECT name FROM pragma_table_list
      WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT GLOB 'sqlite_*' ORDER BY name`,
    )
    .pluck()
    .all() as string[]
  return names.map((name) => ({ name, columns: columnsOf(database, name) }))
}

/** What fails here may succeed on rows. @throws {MigrationError} for a statement of the engine */
function assertOwnDowns(
  database: SqliteDatabase.Database,
  { module }: MigrationSet,
  files: readonly MigrationFile[],
): void {
  for (const { name, down } of files.toReversed()) {
    try {
      runStatements(database, down ?? '')
    } catch (error) {
      if (!(error instanceof DatabaseError && error.kind === 'refused')) return
      throw new MigrationError(`the down migration of ${name} of ${module} is refused: ${error.message}`)
    }
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
