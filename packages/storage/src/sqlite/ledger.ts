import { sql } from '@mortise/module-sdk'
import type { LedgerEntry } from '../port/storage.ts'
import type { Connection } from './connection.ts'

const LEDGER = `
CREATE TABLE IF NOT EXISTS mortise_migration (
  module TEXT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  down TEXT, -- NULL: irreversible
  applied_at BIGINT NOT NULL, -- epoch milliseconds
  tables TEXT, -- the prefix of the module; NULL: applied by host 1.0
  PRIMARY KEY (module, name)
)`

/** Makes the ledger where there is none, and completes one that host 1.0 has made. */
export function prepareLedger(connection: Connection): void {
  connection.database.exec(LEDGER)
  if (!hasPrefixes(connection))
    connection.database.exec('ALTER TABLE mortise_migration ADD COLUMN tables TEXT')
}

/**
 * In order of application: SQLite gives a new row the largest rowid in use plus one, whereas a clock may stand
 * still or go back.
 */
export function readLedger(connection: Connection): LedgerEntry[] {
  const known = connection.first(sql`SELECT 1 FROM sqlite_schema WHERE name = 'mortise_migration'`)
  if (known === undefined) return []
  if (hasPrefixes(connection)) {
    return connection.all<LedgerEntry>(sql`
      SELECT module, name, checksum, down, tables, applied_at AS "appliedAt" FROM mortise_migration ORDER BY rowid`)
  }
  return connection.all<LedgerEntry>(sql`
    SELECT module, name, checksum, down, NULL AS tables, applied_at AS "appliedAt" FROM mortise_migration ORDER BY rowid`)
}

export function recordMigration(connection: Connection, entry: LedgerEntry): void {
  const { module, name, checksum, down, appliedAt, tables } = entry
  connection.changes(sql`
    INSERT INTO mortise_migration (module, name, checksum, down, applied_at, tables)
    VALUES (${module}, ${name}, ${checksum}, ${down}, ${appliedAt}, ${tables})`)
}

function hasPrefixes(connection: Connection): boolean {
  const column = sql`SELECT 1 FROM pragma_table_info('mortise_migration') WHERE name = 'tables'`
  return connection.first(column) !== undefined
}
