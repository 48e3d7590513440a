import SqliteDatabase from 'better-sqlite3'
import { readMigrations } from './migration-files.ts'
import { Connection } from './sqlite/connection.ts'
import { applyMigrations } from './sqlite/migrate.ts'
import type { AppliedMigration, MigrationSet } from './storage.ts'

/**
 * Applies sets of migrations, from their first on and in the order given, to an empty database in memory.
 *
 * @throws {MigrationError}
 */
export async function rehearseMigrations(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
  const files = await Promise.all(sets.map(readMigrations))
  const database = new SqliteDatabase(':memory:')
  try {
    return applyMigrations(new Connection(database), sets, files)
  } finally {
    database.close()
  }
}
