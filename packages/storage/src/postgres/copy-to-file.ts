import { setImmediate as nextTurn } from 'node:timers/promises'
import type SqliteDatabase from 'better-sqlite3'
import type { Client } from 'pg'
import {
  columnNames,
  extraTableOf,
  prepareDialects,
  tableNames,
  writeCounted,
  writeDialect,
} from '../archive/portable-file.ts'
import { ENCODERS, kindOf, type PortableRow, type PortableTable } from '../archive/portable-table.ts'
import { openDatabase } from '../files/open-database.ts'
import { quoted } from '../port/quoted.ts'
import { Connection } from '../sqlite/connection.ts'
import { writeDatabase } from '../sqlite/copy-database.ts'
import { adoptSchema } from '../sqlite/schema.ts'
import { inTransaction, type Query, readLedger, SNAPSHOT } from './change-schema.ts'
import { sqliteSchema } from './dialect.ts'
import { readRows } from './read-rows.ts'
import { readCounted, readTables } from './tables.ts'

/**
 * Writes a SQLite file with the schema, the ledger and the rows of the session's schema as of one
 * moment, while the database is in use, plus the parts that only PostgreSQL has, so that a restore
 * there is exact. Holds thousands of rows in memory, and writes in blocks of fractions of a
 * millisecond.
 *
 * @throws {Error} if it cannot be written; nothing is left then
 */
export async function copyToFile(client: Client, file: string): Promise<void> {
  await writeDatabase(file, async (temporary) => {
    const database = openDatabase(temporary)
    try {
      // Nobody reads the file before it is complete.
      for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'trusted_schema = OFF']) {
        database.pragma(pragma)
      }
      await inTransaction(client, SNAPSHOT, (query) => copyAll(client, query, database))
    } finally {
      database.close()
    }
  })
}

async function copyAll(client: Client, query: Query, database: SqliteDatabase.Database): Promise<void> {
  const tables = await readTables(query)
  // Locks the tables, so that later reads find them unchanged.
  const names = tables.map(({ name }) => quoted(name))
  if (names.length > 0) await query(`LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`)
  const ledger = await readLedger(query)
  adoptSchema(new Connection(database), sqliteSchema(ledger))
  prepareDialects(database)
  for (const entry of ledger) writeDialect(database, entry)
  const counted = await readCounted(query, tables)
  writeCounted(database, counted)

  database.pragma('foreign_keys = OFF')
  database.pragma('ignore_check_constraints = ON')
  const tidied = takeAwayIndexes(database)
  database.exec('BEGIN')
  for (const table of tables) {
    const into = placeFor(database, table)
    const write = rowWriter(database, into, table)
    for await (const rows of readRows(client, table)) {
      for (let at = 0; at < rows.length; at += ROWS_PER_TURN) {
        write(rows.slice(at, at + ROWS_PER_TURN))
        await nextTurn()
      }
    }
  }
  for (const sql of tidied) database.exec(sql)
  countOn(database, counted)
  database.exec('COMMIT')
}

/** A running host serves in between. */
const ROWS_PER_TURN = 100

/** Indexes are faster after the rows; triggers would act on them. Returns how to make them. */
function takeAwayIndexes(database: SqliteDatabase.Database): string[] {
  const objects = database
    .prepare(
      `SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL
       ORDER BY type = 'trigger', rowid`,
    )
    .all() as { type: string; name: string; sql: string }[]
  for (const { type, name } of objects) database.exec(`DROP ${type} ${quoted(name)}`)
  return objects.map(({ sql }) => sql)
}

/** The emptied table of the same name if it has the same columns; otherwise an additional table. */
function placeFor(database: SqliteDatabase.Database, { name, columns }: PortableTable): string {
  const isThere = tableNames(database).includes(name)
  if (isThere) database.exec(`DELETE FROM ${quoted(name)}`)
  const own = isThere ? columnNames(database, name) : []
  const isSame = own.length === columns.length && columns.every((column) => own.includes(column.name))
  if (isSame) return name
  const aside = extraTableOf(name)
  database.exec(`CREATE TABLE ${quoted(aside)} (${columns.map((column) => quoted(column.name)).join(', ')})`)
  return aside
}

/** AUTOINCREMENT continues from the sequence. */
function countOn(database: SqliteDatabase.Database, counted: ReadonlyMap<string, string>): void {
  const isCounting = database.prepare(
    `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? AND sql LIKE '%AUTOINCREMENT%'`,
  )
  for (const [table, count] of counted) {
    if (isCounting.get(table) === undefined) continue
    database.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
    database.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, BigInt(count))
  }
}

/** Makes a function that inserts rows into a table, which is called `into` here. */
function rowWriter(
  database: SqliteDatabase.Database,
  into: string,
  { columns }: PortableTable,
): (rows: readonly PortableRow[]) => void {
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  const insert = database.prepare(
    `INSERT INTO ${quoted(into)} (${names}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const encoders = columns.map((column) => ENCODERS[kindOf(column)])
  return (rows) => {
    for (const row of rows) {
      insert.run(row.map((text, index) => (text === null ? null : encoders[index]?.(text))))
    }
  }
}
