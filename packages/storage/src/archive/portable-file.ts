import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { isOwn } from '../migrations/foreign-change.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'

// A copy of a PostgreSQL database is a SQLite file like any other copy. Additional tables hold what
// SQLite has no place for; no module can use their names.

/** The PostgreSQL form of each migration. */
export const DIALECTS = 'postgres/migration'
/** The counter of each table. */
export const COUNTED = 'postgres/counted'
const TABLE = 'postgres/table/'

/** The rows of a table that exists only on PostgreSQL, or differs there. */
export const extraTableOf = (table: string) => `${TABLE}${table}`
/** The original table of extra rows; undefined if `name` is no such table. */
export const storeExtraTable = (name: string) =>
  name.startsWith(TABLE) ? name.slice(TABLE.length) : undefined

/** One migration on PostgreSQL. */
export interface PostgresDialect {
  readonly module: string
  readonly name: string
  readonly up: string
  readonly down: string | null
  readonly sqliteUp: string
}

export function prepareDialects(database: SqliteDatabase.Database): void {
  database.exec(`
    CREATE TABLE ${quoted(DIALECTS)} (
      module TEXT NOT NULL, name TEXT NOT NULL, up TEXT NOT NULL, down TEXT, sqlite_up TEXT NOT NULL,
      PRIMARY KEY (module, name));
    CREATE TABLE ${quoted(COUNTED)} (name TEXT NOT NULL PRIMARY KEY, count BIGINT NOT NULL)`)
}

export function writeDialect(database: SqliteDatabase.Database, form: PostgresDialect): void {
  database
    .prepare(`INSERT INTO ${quoted(DIALECTS)} (module, name, up, down, sqlite_up) VALUES (?, ?, ?, ?, ?)`)
    .run(form.module, form.name, form.up, form.down, form.sqliteUp)
}

/** Empty for a file made on SQLite. */
export function readDialects(database: SqliteDatabase.Database): PostgresDialect[] {
  if (!tableNames(database).includes(DIALECTS)) return []
  return database
    .prepare(`SELECT module, name, up, down, sqlite_up AS "sqliteUp" FROM ${quoted(DIALECTS)}`)
    .all() as PostgresDialect[]
}

export function writeCounted(database: SqliteDatabase.Database, counted: ReadonlyMap<string, string>): void {
  const insert = database.prepare(`INSERT INTO ${quoted(COUNTED)} (name, count) VALUES (?, ?)`)
  for (const [table, count] of counted) insert.run(table, BigInt(count))
}

/** The counter of each table, whichever engine made the file. */
export function readCounted(database: SqliteDatabase.Database): Map<string, string> {
  const names = tableNames(database, '')
  const from = (table: string, column: string) =>
    names.includes(table)
      ? database.prepare(`SELECT name, CAST(${column} AS TEXT) AS count FROM ${quoted(table)}`).all()
      : []
  const rows = [...from('sqlite_sequence', 'seq'), ...from(COUNTED, 'count')]
  return new Map((rows as { name: string; count: string }[]).map(({ name, count }) => [name, count]))
}

/** The tables of the file, including the additional ones. */
export function tableNames(database: SqliteDatabase.Database, except = 'sqlite_*'): string[] {
  return database
    .prepare(
      `SELECT name FROM pragma_table_list
       WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT GLOB ? ORDER BY name`,
    )
    .pluck()
    .all(except) as string[]
}

/** The stored columns of a table. */
export function columnNames(database: SqliteDatabase.Database, table: string): string[] {
  return database
    .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
    .pluck()
    .all(table) as string[]
}

export function hasRows(database: SqliteDatabase.Database, table: string, schema = 'main'): boolean {
  return database.prepare(`SELECT 1 FROM ${schema}.${quoted(table)} LIMIT 1`).get() !== undefined
}

/** @throws {MigrationError} if the copy has rows without a table on SQLite */
export function toSqlite(file: string): void {
  const database = openDatabase(file, { fileMustExist: true })
  try {
    assertNoExtraTables(database, 'main')
    dropAside(database)
  } finally {
    database.close()
  }
}

/**
 * Leaves the tables that SQLite has.
 * @returns the tables that only PostgreSQL has, or has with other columns
 */
export function dropExtraTables(file: string): string[] {
  const database = openDatabase(file, { fileMustExist: true })
  try {
    return dropAside(database).flatMap((name) => storeExtraTable(name) ?? [])
  } finally {
    database.close()
  }
}

function dropAside(database: SqliteDatabase.Database): string[] {
  const names = namesAside(database, 'main')
  for (const name of names) database.exec(`DROP TABLE ${quoted(name)}`)
  return names
}

/** @throws {MigrationError} if the file has rows without a table on SQLite */
export function assertNoExtraTables(database: SqliteDatabase.Database, schema: 'main' | 'archived'): void {
  for (const name of namesAside(database, schema)) {
    const table = storeExtraTable(name)
    if (table === undefined || !hasRows(database, name, schema)) continue
    throw new MigrationError(
      `it comes from PostgreSQL and has rows of "${table}", which SQLite does not have: restore it into PostgreSQL`,
    )
  }
}

function namesAside(database: SqliteDatabase.Database, schema: 'main' | 'archived'): string[] {
  return database
    .prepare(`SELECT name FROM ${schema}.sqlite_schema WHERE type = 'table' AND name GLOB 'postgres/*'`)
    .pluck()
    .all() as string[]
}

/** From the attached file `archived`. Runs within a transaction. */
export function extractExtraTables(
  database: SqliteDatabase.Database,
  module: string,
  prefixes: readonly string[],
): void {
  const names = namesAside(database, 'archived')
  if (names.length === 0) return
  const isTheirs = (name: string) => prefixes.some((prefix) => isOwn(prefix, name))
  prepareDialects(database)
  const copy = (table: string, where: string, value: string) =>
    database
      .prepare(`INSERT INTO ${quoted(table)} SELECT * FROM archived.${quoted(table)} WHERE ${where} = ?`)
      .run(value)
  copy(DIALECTS, 'module', module)
  const counted = database.prepare(`SELECT name FROM archived.${quoted(COUNTED)}`).pluck()
  for (const name of (counted.all() as string[]).filter(isTheirs)) copy(COUNTED, 'name', name)
  for (const name of names) {
    const table = storeExtraTable(name)
    if (table === undefined || !isTheirs(table)) continue
    database.exec(`CREATE TABLE ${quoted(name)} AS SELECT * FROM archived.${quoted(name)}`)
  }
}
