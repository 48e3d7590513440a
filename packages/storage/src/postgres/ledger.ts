import type { QueryResult } from 'pg'
import { checksumOf } from '../migrations/migration-files.ts'
import type { DatabaseSchema, LedgerEntry } from '../port/storage.ts'

/** What is remembered of a migration here: also what it is on SQLite, where modules are tried before they are installed. */
export interface PostgresLedgerEntry extends LedgerEntry {
  readonly tables: string
  readonly up: string
  readonly sqliteUp: string
  readonly sqliteDown: string | null
}

/** Runs SQL with the values of its placeholders. */
export type Query = (text: string, values?: unknown[]) => Promise<QueryResult>

const LEDGER = `
CREATE TABLE IF NOT EXISTS mortise_migration (
  module TEXT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  down TEXT, -- NULL: irreversible
  applied_at BIGINT NOT NULL, -- epoch milliseconds
  tables TEXT NOT NULL, -- the prefix of the module
  up TEXT NOT NULL,
  sqlite_up TEXT NOT NULL,
  sqlite_down TEXT,
  position BIGINT GENERATED ALWAYS AS IDENTITY, -- the order of application
  PRIMARY KEY (module, name)
)`

export async function prepareLedger(query: Query): Promise<void> {
  await query(LEDGER)
}

/** In order of application. */
export async function readLedger(query: Query): Promise<PostgresLedgerEntry[]> {
  const { rows } = await query(`SELECT to_regclass('mortise_migration') IS NOT NULL AS known`)
  if (!rows[0]?.known) return []
  const ledger = await query(`
    SELECT module, name, checksum, up, down, tables, applied_at AS "appliedAt", sqlite_up AS "sqliteUp",
      sqlite_down AS "sqliteDown"
    FROM mortise_migration ORDER BY position`)
  return ledger.rows
}

export async function recordMigration(query: Query, entry: PostgresLedgerEntry): Promise<void> {
  const { module, name, checksum, up, down, appliedAt, tables, sqliteUp, sqliteDown } = entry
  await query(
    `INSERT INTO mortise_migration (module, name, checksum, up, down, applied_at, tables, sqlite_up, sqlite_down)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [module, name, checksum, up, down, appliedAt, tables, sqliteUp, sqliteDown],
  )
}

/** The same schema on SQLite, with the ledger that its migrations would have left there. */
export function sqliteSchema(ledger: readonly PostgresLedgerEntry[]): DatabaseSchema {
  return {
    statements: ledger.map(({ sqliteUp }) => sqliteUp),
    ledger: ledger.map(({ up, sqliteUp, sqliteDown, ...entry }) => ({
      ...entry,
      checksum: checksumOf(sqliteUp),
      down: sqliteDown,
    })),
  }
}
