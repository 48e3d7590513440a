import { sql } from '@mortise/module-sdk'
import { foreignChange } from '../migrations/foreign-change.ts'
import { nameOf, planUndo, type Undoable } from '../migrations/plan-undo.ts'
import { BrokenStorageError, isShortage, MigrationError } from '../port/errors.ts'
import type { AppliedMigration } from '../port/storage.ts'
import { changeSchema, orphanIn } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { toDatabaseError } from './database-error.ts'
import { readLedger } from './ledger.ts'
import { readSchema } from './schema.ts'

/** See `Storage.undo`. @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened */
export function undoMigrations(connection: Connection, migrations: readonly AppliedMigration[]): void {
  const entries = planUndo(readLedger(connection), migrations)
  if (entries.length === 0) return
  changeSchema(connection, () => {
    for (const entry of entries) undoOne(connection, entry)
    const orphan = orphanIn(
      connection,
      entries.map(({ tables }) => tables),
    )
    if (orphan === undefined) return
    throw new MigrationError(
      `undoing ${entries.map(nameOf).join(', ')} leaves rows in "${orphan.table}" whose "${orphan.parent}" is ` +
        'gone. Nothing was changed; tell the author of the module',
    )
  })
}

function undoOne(connection: Connection, entry: Undoable): void {
  const before = readSchema(connection)
  try {
    connection.database.exec(entry.down)
  } catch (cause) {
    const error = toDatabaseError(cause, nameOf(entry), connection.database.name) as Error
    if (error instanceof BrokenStorageError || isShortage(error)) throw error
    throw new MigrationError(
      `${nameOf(entry)} cannot be undone: ${(cause as Error).message}. Nothing was changed; tell the author of the module`,
      { cause: error },
    )
  }
  const change = foreignChange(entry.tables, before, readSchema(connection))
  if (change !== undefined) {
    throw new MigrationError(
      `undoing ${nameOf(entry)} ${change}, but it may only touch "${entry.tables}" and what begins with ` +
        `"${entry.tables}_". Nothing was changed; tell the author of the module`,
    )
  }
  connection.changes(
    sql`DELETE FROM mortise_migration WHERE module = ${entry.module} AND name = ${entry.name}`,
  )
}
