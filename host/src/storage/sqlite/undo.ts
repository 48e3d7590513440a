import { sql } from '@mortise/module-sdk'
import { type AppliedMigration, type LedgerEntry, MigrationError } from '../storage.ts'
import { changeSchema, orphanIn } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { BrokenStorageError, toDatabaseError } from './database-error.ts'
import { foreignChange } from './foreign-change.ts'
import { readLedger } from './ledger.ts'
import { readSchema } from './schema.ts'

type Undoable = LedgerEntry & { readonly down: string; readonly tables: string }

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

/** Those of the ledger that are meant, newest first. */
function planUndo(ledger: readonly LedgerEntry[], migrations: readonly AppliedMigration[]): Undoable[] {
  const isMeant = (entry: LedgerEntry) =>
    migrations.some(({ module, name }) => module === entry.module && name === entry.name)
  const stays = new Map<string, LedgerEntry>()
  const undoable: Undoable[] = []
  for (const entry of ledger.toReversed()) {
    if (!isMeant(entry)) {
      stays.set(entry.module, entry)
      continue
    }
    const later = stays.get(entry.module)
    if (later !== undefined) {
      throw new MigrationError(
        `${nameOf(entry)} cannot be undone alone: ${later.name} was applied after it. Undo that one too`,
      )
    }
    undoable.push(assertUndoable(entry))
  }
  return undoable
}

function assertUndoable(entry: LedgerEntry): Undoable {
  const { down, tables } = entry
  if (down === null) {
    throw new MigrationError(
      `${nameOf(entry)} is irreversible: it came without a way back. Nothing was changed`,
    )
  }
  if (tables === null) {
    throw new MigrationError(
      `${nameOf(entry)} was applied by an older host, which did not record what it may touch. ` +
        'Start this host once with the module installed, then try again',
    )
  }
  return { ...entry, down, tables }
}

function undoOne(connection: Connection, entry: Undoable): void {
  const before = readSchema(connection)
  try {
    connection.database.exec(entry.down)
  } catch (cause) {
    const error = toDatabaseError(cause, nameOf(entry)) as Error
    if (error instanceof BrokenStorageError) throw error
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

const nameOf = ({ module, name }: AppliedMigration) => `${name} of ${module}`
