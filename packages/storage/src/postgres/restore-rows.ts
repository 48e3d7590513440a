import type { Sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type SqliteDatabase from 'better-sqlite3'
import type { Client } from 'pg'
import { readCounted, readDialects } from '../archive/portable-file.ts'
import type { PortableTable } from '../archive/portable-table.ts'
import type { SchemaSteps } from '../migrations/dialect.ts'
import { isOwn } from '../migrations/foreign-change.ts'
import { applyEntry } from '../migrations/migrate.ts'
import * as migrations from '../migrations/restore-module.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { MigrationSet, ModuleData } from '../port/storage.ts'
import { Connection } from '../sqlite/connection.ts'
import { openSeparate } from '../sqlite/open-connections.ts'
import { readLedger as readFileLedger } from '../sqlite/schema.ts'
import { type Query, runSteps } from './change-schema.ts'
import { type CopyOptions, copyRows } from './copy-rows.ts'
import { dialect, type PostgresLedgerEntry } from './dialect.ts'
import { pairTables } from './pair-tables.ts'
import { toPostgresLedger } from './postgres-forms.ts'
import { advanceCounters, loosen, readTables } from './tables.ts'

/** A SQLite file with tables for PostgreSQL. */
export interface SourceFile {
  readonly database: SqliteDatabase.Database
  /** In its PostgreSQL form. */
  readonly ledger: readonly PostgresLedgerEntry[]
}

/**
 * Reads a file as of one moment.
 * @throws {MigrationError} if a migration has no form for PostgreSQL
 */
export async function withSource<Result>(
  file: string,
  sets: readonly MigrationSet[],
  work: (source: SourceFile) => Promise<Result>,
): Promise<Result> {
  const database = openSeparate(file)
  try {
    database.exec('BEGIN')
    const ledger = readFileLedger(new Connection(database))
    return await work({ database, ledger: await toPostgresLedger(ledger, readDialects(database), sets) })
  } finally {
    database.close()
  }
}

/** Runs the migrations of a ledger, and records them. */
function* applyEntries(ledger: readonly PostgresLedgerEntry[]): SchemaSteps<void> {
  yield dialect.ledger.create
  for (const entry of ledger) yield* applyEntry(dialect, `${entry.name} of ${entry.module}`, entry.up, entry)
}

export interface RestoredTable {
  readonly table: string
  /** Null for a table of PostgreSQL alone, or of its own database: its migrations have made its rows. */
  readonly rows: number | null
}

/**
 * Creates the tables of a file in the schema of the session, with their rows. Runs within a
 * transaction.
 * @param isMeant selects tables; the others stay as their migrations have made them
 */
export async function restoreRows(
  client: Client,
  query: Query,
  { database, ledger }: SourceFile,
  isMeant: (name: string) => boolean,
  options?: CopyOptions,
): Promise<RestoredTable[]> {
  await runSteps(query, applyEntries(ledger))
  const tables = (await readTables(query)).filter(({ name }) => isMeant(name))
  const pairs = pairTables(database, tables, isMeant)
  const back = await loosen(query, tables)
  // Rows inserted by migrations could conflict with other rows.
  for (const { table } of pairs) await query(`DELETE FROM ${quoted(table.name)}`)
  const copied = new Map<PortableTable, number>()
  for (const pair of pairs) {
    copied.set(pair.table, await copyRows(client, database, pair, options))
    // Until the server's own ANALYZE the planner would assume an empty table.
    await query(`ANALYZE ${quoted(pair.table.name)}`)
  }
  if (back !== '') await query(back)
  await advanceCounters(query, tables, readCounted(database))
  return tables.map((table) => ({ table: table.name, rows: copied.get(table) ?? null }))
}

/** See `Storage.restoreModule`. */
export function restoreModule(
  client: Client,
  query: Query,
  file: string,
  source: SourceFile,
  record?: Sql,
): SchemaSteps<ModuleData> {
  const copy = function* (prefixes: readonly string[]): SchemaSteps<string[]> {
    const isMeant = (name: string) => prefixes.some((prefix) => isOwn(prefix, name))
    const tables: RestoredTable[] = yield () =>
      restoreRows(client, query, source, isMeant).catch(refuseOrphans)
    return tables.map(({ table }) => table)
  }
  return migrations.restoreModule(dialect, file, source.ledger, copy, record)
}

function refuseOrphans(error: Error): never {
  if (!(error instanceof DatabaseError) || error.kind !== 'foreign-key') throw error
  throw new MigrationError(
    `rows in the archive refer to rows that no longer exist: ${error.message}. Nothing was changed`,
    { cause: error },
  )
}
