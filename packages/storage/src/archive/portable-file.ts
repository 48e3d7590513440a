import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { isOwn } from '../migrations/foreign-change.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'

// A copy of a PostgreSQL database is a SQLite file like any other copy, with tables beside those of the application
// for what SQLite has no place for: their names are none that a module can take.

/** What each migration is on PostgreSQL. */
export const DIALECTS = 'postgres/migration'
/** How far each table has counted. */
export const COUNTED = 'postgres/counted'
const TABLE = 'postgres/table/'

/** The rows of a table that only PostgreSQL has, or has in this way. */
export const extraTableOf = (table: string) => `${TABLE}${table}`
/** The table that rows were put aside of; undefined where `name` is none of those. */
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

/** None where the file was made on SQLite. */
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

/** How far each table has counted, on whichever engine the file was made. */
export function readCounted(database: SqliteDatabase.Database): Map<string, string> {
  const names = tableNames(database, '')
  const from = (table: string, column: string) =>
    names.includes(table)
      ? database.prepare(`SELECT name, CAST(${column} AS TEXT) AS count FROM ${quoted(table)}`).all()
      : []
  const rows = [...from('sqlite_sequence', 'seq'), ...from(COUNTED, 'count')]
  return new Map((rows as { name: string; count: string }[]).map(({ name, count }) => [name, count]))
}

/** The tables of the file, those beside the application's among them. */
export function tableNames(database: SqliteDatabase.Database, except = 'sqlite_*'): string[] {
  return database
    .prepare(
      `SELECT name FROM pragma_table_list
       WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT GLOB ? ORDER BY name`,
    )
    .pluck()
    .all(except) as string[]
}

/** The columns of a table that are stored. */
export function columnNames(database: SqliteDatabase.Database, table: string): string[] {
  return database
    .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
    .pluck()
    .all(table) as string[]
}

export function hasRows(database: SqliteDatabase.Database, table: string, schema = 'main'): boolean {
  return database.prepare(`SELECT 1 FROM ${schema}.${quoted(table)} LIMIT 1`).get() !== undefined
}

/**
 * Makes a copy, of a database on whichever engine, one that a host on SQLite can have.
 * @throws {MigrationError} where it has rows that SQLite has no table for
 */
export function toSqlite(file: string): void {
  const database = openDatabase(file, { fileMustExist: true })
  try {
    const aside = namesAside(database, 'main')
    for (const name of aside) {
      const table = storeExtraTable(name)
      if (table !== undefined && hasRows(database, name)) throw onlyOnPostgres(table)
    }
    for (const name of aside) database.exec(`DROP TABLE ${quoted(name)}`)
  } finally {
    database.close()
  }
}

/** Of the attached file `archived`. @throws {MigrationError} where it has rows that SQLite has no table for */
export function assertNoExtraTables(database: SqliteDatabase.Database): void {
  for (const name of namesAside(database, 'archived')) {
    const table = storeExtraTable(name)
    if (table !== undefined && hasRows(database, name, 'archived')) throw onlyOnPostgres(table)
  }
}

const onlyOnPostgres = (table: string) =>
  new MigrationError(
    `it was made on PostgreSQL and has rows of "${table}", which a SQLite database has not: bring it back into a PostgreSQL`,
  )

function namesAside(database: SqliteDatabase.Database, schema: 'main' | 'archived'): string[] {
  return database
    .prepare(`SELECT name FROM ${schema}.sqlite_schema WHERE type = 'table' AND name GLOB 'postgres/*'`)
    .pluck()
    .all() as string[]
}

/** Of the attached file `archived`: what is beside the tables of one module. Within a transaction. */
export function extractExtraTables(
  database: SqliteDatabase.Database,
  module: string,
  prefixes: readonly string[],
): void {
  const names = namesAside(database, 'archived')
  if (names.length === 0) return
  const isTheirs = (name: string) => prefixes.some((prefix) => isOwn(prefix, name))
  prepareDialects(database)
  database
    .prepare(`INSERT INTO ${quoted(DIALECTS)} SELECT * FROM archived.${quoted(DIALECTS)} WHERE module = ?`)
    .run(module)
  const counted = database
    .prepare(`SELECT name FROM archived.${quoted(COUNTED)}`)
    .pluck()
    .all() as string[]
  for (const name of counted.filter(isTheirs)) {
    database
      .prepare(`INSERT INTO ${quoted(COUNTED)} SELECT * FROM archived.${quoted(COUNTED)} WHERE name = ?`)
      .run(name)
  }
  for (const name of names) {
    const table = storeExtraTable(name)
    if (table === undefined || !isTheirs(table)) continue
    database.exec(`CREATE TABLE ${quoted(name)} AS SELECT * FROM archived.${quoted(name)}`)
  }
}
