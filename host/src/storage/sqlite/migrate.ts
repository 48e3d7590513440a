import { sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import type { MigrationFile } from '../migration-files.ts'
import { type LedgerEntry, planMigrations } from '../plan-migrations.ts'
import { type AppliedMigration, MigrationError, type MigrationSet } from '../storage.ts'
import type { Connection } from './connection.ts'
import { BrokenStorageError, toDatabaseError } from './database-error.ts'
import { foreignChange, isOwn, type SchemaObject } from './foreign-change.ts'

const LEDGER = `
CREATE TABLE IF NOT EXISTS mortise_migration (
  module TEXT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  down TEXT, -- NULL: irreversible
  applied_at BIGINT NOT NULL, -- epoch milliseconds
  PRIMARY KEY (module, name)
)`

/** What `applyMigrations` would apply. `files` are those of `sets`, in the same order. */
export function pendingMigrations(
  connection: Connection,
  sets: readonly MigrationSet[],
  files: readonly (readonly MigrationFile[])[],
): AppliedMigration[] {
  const ledger = readLedger(connection)
  return sets.flatMap((set, index) =>
    planMigrations(set, files[index] ?? [], ledger).map(({ name }) => ({ module: set.module, name })),
  )
}

/**
 * Applies what is pending in one transaction: all of it, or nothing.
 *
 * Foreign keys are off meanwhile and checked as a whole before the COMMIT, as SQLite advises for changing a
 * schema: with them on, dropping a table in order to rebuild it would cascade to the rows of its children.
 *
 * @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened
 */
export function applyMigrations(
  connection: Connection,
  sets: readonly MigrationSet[],
  files: readonly (readonly MigrationFile[])[],
): AppliedMigration[] {
  if (pendingMigrations(connection, sets, files).length === 0) return []
  connection.database.pragma('foreign_keys = OFF')
  try {
    connection.begin()
    try {
      connection.database.exec(LEDGER)
      const applied = applyPending(connection, sets, files)
      assertKeysHold(connection, sets)
      const failure = connection.commit()
      if (failure !== undefined) throw failure
      return applied
    } catch (error) {
      if (connection.inTransaction) connection.rollback()
      throw error
    }
  } finally {
    connection.database.pragma('foreign_keys = ON')
  }
}

function applyPending(
  connection: Connection,
  sets: readonly MigrationSet[],
  files: readonly (readonly MigrationFile[])[],
): AppliedMigration[] {
  const applied: AppliedMigration[] = []
  const ledger = readLedger(connection)
  sets.forEach((set, index) => {
    const pending = planMigrations(set, files[index] ?? [], ledger)
    if (pending.length > 0) rehearseAlone(set, files[index] ?? [])
    for (const file of pending) {
      applyOne(connection, set, file)
      applied.push({ module: set.module, name: file.name })
    }
  })
  return applied
}

function applyOne(connection: Connection, set: MigrationSet, file: MigrationFile): void {
  const before = readSchema(connection)
  try {
    connection.database.exec(file.up)
  } catch (cause) {
    const error = toDatabaseError(cause, file.path) as Error
    if (error instanceof BrokenStorageError) throw error
    throw new MigrationError(
      `${file.path} of ${set.module} failed: ${(cause as Error).message}. Nothing was changed; correct the file`,
      { cause: error },
    )
  }
  const change = foreignChange(set.tables, before, readSchema(connection))
  if (change !== undefined) {
    throw new MigrationError(
      `${file.path} of ${set.module} ${change}, but it may only touch "${set.tables}" and what begins with ` +
        `"${set.tables}_". Nothing was changed; correct the file`,
    )
  }
  connection.changes(sql`
    INSERT INTO mortise_migration (module, name, checksum, down, applied_at)
    VALUES (${set.module}, ${file.name}, ${file.checksum}, ${file.down}, ${Date.now()})`)
}

/**
 * Runs all migrations of a set where nothing else is. What reads or writes another module's tables fails there:
 * that it changes rows would not show in the schema.
 */
function rehearseAlone(set: MigrationSet, files: readonly MigrationFile[]): void {
  const database = new SqliteDatabase(':memory:')
  database.pragma('foreign_keys = OFF')
  try {
    for (const file of files) {
      try {
        database.exec(file.up)
      } catch (cause) {
        throw new MigrationError(
          `${file.path} of ${set.module} failed: ${(cause as Error).message}. A migration sees "${set.tables}" and ` +
            `what begins with "${set.tables}_", and nothing else. Nothing was changed; correct the file`,
          { cause },
        )
      }
    }
  } finally {
    database.close()
  }
}

/** Looks at the tables of the modules that migrate: those of others are as they were, and may be large. */
function assertKeysHold(connection: Connection, sets: readonly MigrationSet[]): void {
  const orphan = readSchema(connection)
    .filter(({ type, name }) => type === 'table' && sets.some(({ tables }) => isOwn(tables, name)))
    .flatMap(({ name }) => connection.database.pragma(`foreign_key_check("${name}")`) as Orphan[])[0]
  if (orphan === undefined) return
  throw new MigrationError(
    `the migrations leave rows in "${orphan.table}" whose "${orphan.parent}" is gone. Nothing was changed; ` +
      'foreign keys do not cascade in a migration: delete or mend the rows in it',
  )
}

interface Orphan {
  readonly table: string
  readonly parent: string
}

function readLedger(connection: Connection): LedgerEntry[] {
  const known = connection.first(sql`SELECT 1 FROM sqlite_schema WHERE name = 'mortise_migration'`)
  if (known === undefined) return []
  return connection.all<LedgerEntry>(sql`SELECT module, name, checksum FROM mortise_migration ORDER BY name`)
}

function readSchema(connection: Connection): SchemaObject[] {
  return connection.all<SchemaObject>(sql`
    SELECT 0 AS temporary, type, name, tbl_name AS "table", sql FROM sqlite_schema
    UNION ALL
    SELECT 1, type, name, tbl_name, sql FROM sqlite_temp_schema`)
}
