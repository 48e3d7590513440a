import { Sql, type SqlValue } from '@mortise/module-sdk'
import type { MigrationFile } from '../migrations/migration-files.ts'
import type { AppliedMigration, MigrationSet } from '../port/storage.ts'
import type { Connection } from './connection.ts'
import { applyMigrations } from './migrate.ts'
import { purgeModule } from './purge.ts'
import { restoreModule } from './restore-module.ts'
import { undoMigrations } from './undo.ts'

/** A statement that was sent to another thread, where it is no `Sql` any more. */
export interface CarriedSql {
  readonly strings: readonly string[]
  readonly values: readonly SqlValue[]
}

export const carriedSql = ({ strings, values }: CarriedSql) => new Sql(strings, values)

/** A change of the schema as plain data. */
export type SchemaChange =
  | {
      readonly kind: 'migrate'
      readonly sets: readonly MigrationSet[]
      /** Those of `sets`, in the same order. */
      readonly files: readonly (readonly MigrationFile[])[]
    }
  | { readonly kind: 'undo'; readonly migrations: readonly AppliedMigration[] }
  | { readonly kind: 'purge'; readonly module: string; readonly record: CarriedSql | undefined }
  | { readonly kind: 'restore'; readonly file: string; readonly record: CarriedSql | undefined }

/**
 * Makes it, in one transaction.
 * @returns what the method of `Storage` answers
 * @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened
 */
export function applyChange(connection: Connection, change: SchemaChange): unknown {
  const { database } = connection
  // A migration may sort or change a whole table: what SQLite sets aside for it is in files.
  database.pragma('temp_store = FILE')
  try {
    return apply(connection, change)
  } finally {
    if (!database.inTransaction) database.pragma('temp_store = MEMORY')
  }
}

function apply(connection: Connection, change: SchemaChange): unknown {
  switch (change.kind) {
    case 'migrate':
      return applyMigrations(connection, change.sets, change.files)
    case 'undo':
      return undoMigrations(connection, change.migrations)
    case 'purge':
      return purgeModule(connection, change.module, change.record && carriedSql(change.record))
    case 'restore':
      return restoreModule(connection, change.file, change.record && carriedSql(change.record))
  }
}
