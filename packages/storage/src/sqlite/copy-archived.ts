import { isOwn, type SchemaObject } from '../migrations/foreign-change.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { LedgerEntry } from '../port/storage.ts'
import type { Connection } from './connection.ts'
import { dialect, shadowTables } from './dialect.ts'

// Copies between the database of a connection and a file of tables that is attached to it as
// `archived`.

/** Runs `work` with `file` attached. Not within a transaction. */
export function withArchived<Result>(connection: Connection, file: string, work: () => Result): Result {
  connection.database.prepare('ATTACH ? AS archived').run(file)
  try {
    return work()
  } finally {
    connection.database.exec('DETACH archived')
  }
}

/** @throws {MigrationError} if the file has none */
export function archivedLedger({ database }: Connection): LedgerEntry[] {
  try {
    return database
      .prepare(
        `SELECT module, name, checksum, down, tables, applied_at AS "appliedAt" FROM archived.mortise_migration ORDER BY rowid`,
      )
      .all() as LedgerEntry[]
  } catch (error) {
    throw new MigrationError(`this host cannot read the ledger of the file: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/**
 * Copies all objects with these prefixes from the attached file, rows included. Runs within a
 * transaction, while foreign keys are off.
 *
 * @returns the tables
 * @throws {MigrationError} if that creates objects beyond the prefixes
 */
export function copyArchived(connection: Connection, prefixes: readonly string[]): string[] {
  const { database } = connection
  const before = connection.all<SchemaObject>(dialect.objects)
  const all = database
    .prepare(
      `SELECT type, name, tbl_name AS "table", sql FROM archived.sqlite_schema
       WHERE sql IS NOT NULL ORDER BY type <> 'table', type = 'trigger', rowid`,
    )
    .all() as { type: string; name: string; table: string; sql: string }[]
  const objects = all.filter(({ name }) => prefixes.some((prefix) => isOwn(prefix, name)))
  const shadows = archivedTables(connection, 'shadow')
  const virtual = archivedTables(connection, 'virtual')
  const tables = objects.filter(({ type, name }) => type === 'table' && !shadows.has(name))
  for (const { sql } of tables) database.exec(sql)
  const made = new Set(connection.all<{ name: string }>(shadowTables).map(({ name }) => name))
  // Allows writes to the tables behind virtual ones.
  database.unsafeMode(true)
  try {
    for (const { type, name } of objects) {
      if (type !== 'table' || virtual.has(name)) continue
      // The file also contains the initial rows of a virtual table.
      if (made.has(name)) database.exec(`DELETE FROM main.${quoted(name)}`)
      copyRows(connection, name)
    }
  } finally {
    database.unsafeMode(false)
  }
  for (const { type, sql } of objects) if (type !== 'table') database.exec(sql)
  copySequences(connection, tables)
  assertOwn(connection, prefixes, before)
  return tables.map(({ name }) => name)
}

/** The tables of this type in the attached file. */
function archivedTables({ database }: Connection, type: 'shadow' | 'virtual'): Set<string> {
  const names = database
    .prepare(`SELECT name FROM pragma_table_list WHERE schema = 'archived' AND type = ?`)
    .pluck()
    .all(type)
  return new Set(names as string[])
}

interface Column {
  readonly name: string
  readonly type: string
  readonly pk: number
  /** Above 1: generated. */
  readonly hidden: number
}

/**
 * Copies rowids too, since other tables may refer to them, unless a column of the table is or hides
 * the rowid.
 */
function copyRows({ database }: Connection, table: string): void {
  const columns = database.prepare('SELECT * FROM pragma_table_xinfo(?)').all(table) as Column[]
  const withoutRowid = database
    .prepare(`SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?`)
    .pluck()
    .get(table)
  const isRowid = ({ name, type, pk }: Column) =>
    name.toLowerCase() === 'rowid' || (pk > 0 && type.toUpperCase() === 'INTEGER')
  const stored = columns.filter(({ hidden }) => hidden === 0).map(({ name }) => quoted(name))
  const all = (withoutRowid === 1 || columns.some(isRowid) ? stored : ['rowid', ...stored]).join(', ')
  database.exec(`INSERT INTO main.${quoted(table)} (${all}) SELECT ${all} FROM archived.${quoted(table)}`)
}

/** The counters of AUTOINCREMENT, which may exceed the existing rows. */
function copySequences({ database }: Connection, tables: readonly { readonly name: string }[]): void {
  const known = (schema: string) =>
    database.prepare(`SELECT 1 FROM ${schema}.sqlite_schema WHERE name = 'sqlite_sequence'`).get()
  if (known('archived') === undefined || known('main') === undefined) return
  for (const { name } of tables) {
    const counted = database
      .prepare('SELECT seq FROM archived.sqlite_sequence WHERE name = ?')
      .pluck()
      .get(name)
    if (counted === undefined) continue
    database.prepare('DELETE FROM main.sqlite_sequence WHERE name = ?').run(name)
    database.prepare('INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)').run(name, counted)
  }
}

function assertOwn(
  connection: Connection,
  prefixes: readonly string[],
  before: readonly SchemaObject[],
): void {
  const isOwned = (name: string) =>
    name.startsWith('sqlite_') || prefixes.some((prefix) => isOwn(prefix, name))
  const known = new Set(before.map(({ type, name }) => `${type} ${name}`))
  const foreign = connection
    .all<SchemaObject>(dialect.objects)
    .find(({ type, name, table }) => !known.has(`${type} ${name}`) && !(isOwned(name) && isOwned(table)))
  if (foreign === undefined) return
  throw new MigrationError(
    `the file makes the ${foreign.type} "${foreign.name}" on "${foreign.table}", which does not belong to its module. Nothing was changed`,
  )
}
