import { sql } from '@mortise/module-sdk'
import { openDatabase } from '../files/open-database.ts'
import { foreignChange } from '../migrations/foreign-change.ts'
import type { MigrationFile } from '../migrations/migration-files.ts'
import { planMigrations } from '../migrations/plan-migrations.ts'
import { BrokenStorageError, isShortage, MigrationError } from '../port/errors.ts'
import type { AppliedMigration, MigrationSet } from '../port/storage.ts'
import { changeSchema, orphanIn } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { toDatabaseError } from './database-error.ts'
import { prepareLedger, readLedger, recordMigration } from './ledger.ts'
import { runAlone } from './run-alone.ts'
import { readSchema } from './schema.ts'

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

/** Whether `applyMigrations` would change something. */
export function needsMigration(
  connection: Connection,
  sets: readonly MigrationSet[],
  files: readonly (readonly MigrationFile[])[],
): boolean {
  return pendingMigrations(connection, sets, files).length > 0 || lackPrefix(connection, sets)
}

/**
 * Applies what is pending in one transaction: all of it, or nothing.
 * @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened
 */
export function applyMigrations(
  connection: Connection,
  sets: readonly MigrationSet[],
  files: readonly (readonly MigrationFile[])[],
): AppliedMigration[] {
  if (!needsMigration(connection, sets, files)) return []
  return changeSchema(connection, () => {
    prepareLedger(connection)
    addPrefixes(connection, sets)
    const applied = applyPending(connection, sets, files)
    assertKeysHold(connection, sets)
    return applied
  })
}

/** Whether migrations of these sets were applied by a host that did not record the prefix. */
function lackPrefix(connection: Connection, sets: readonly MigrationSet[]): boolean {
  return readLedger(connection).some(
    ({ module, tables }) => tables === null && sets.some((set) => set.module === module),
  )
}

function addPrefixes(connection: Connection, sets: readonly MigrationSet[]): void {
  for (const { module, tables } of sets) {
    connection.changes(
      sql`UPDATE mortise_migration SET tables = ${tables} WHERE module = ${module} AND tables IS NULL`,
    )
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
  const { module, tables } = set
  const { path, name, up, checksum, down } = file
  const before = readSchema(connection)
  try {
    connection.database.exec(up)
  } catch (cause) {
    const error = toDatabaseError(cause, path, connection.database.name) as Error
    if (error instanceof BrokenStorageError || isShortage(error)) throw error
    throw new MigrationError(
      `${path} of ${module} failed: ${(cause as Error).message}. Nothing was changed; correct the file`,
      { cause: error },
    )
  }
  const change = foreignChange(tables, before, readSchema(connection))
  if (change !== undefined) {
    throw new MigrationError(
      `${path} of ${module} ${change}, but it may only touch "${tables}" and what begins with ` +
        `"${tables}_". Nothing was changed; correct the file`,
    )
  }
  recordMigration(connection, { module, name, checksum, down, tables, appliedAt: Date.now() })
}

/**
 * Runs all migrations of a set where nothing else is. What reads or writes another module's tables fails there:
 * that it changes rows would not show in the schema.
 */
function rehearseAlone(set: MigrationSet, files: readonly MigrationFile[]): void {
  const database = openDatabase(':memory:')
  try {
    runAlone(database, set, files)
  } finally {
    database.close()
  }
}

function assertKeysHold(connection: Connection, sets: readonly MigrationSet[]): void {
  const orphan = orphanIn(
    connection,
    sets.map(({ tables }) => tables),
  )
  if (orphan === undefined) return
  throw new MigrationError(
    `the migrations leave rows in "${orphan.table}" whose "${orphan.parent}" is gone. Nothing was changed; ` +
      'foreign keys do not cascade in a migration: delete or mend the rows in it',
  )
}
