import { Sql, type SqlValue } from '@mortise/module-sdk/sql'
import { assertNoExtraTables } from '../archive/portable-file.ts'
import type { SchemaSteps } from '../migrations/dialect.ts'
import { insertion } from '../migrations/ledger.ts'
import { migrate, type ReadSet } from '../migrations/migrate.ts'
import { purgeModule } from '../migrations/purge.ts'
import { restoreModule } from '../migrations/restore-module.ts'
import { undoMigrations } from '../migrations/undo.ts'
import type { AppliedMigration, ModuleData } from '../port/storage.ts'
import { changeSchema } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { archivedLedger, copyArchived, withArchived } from './copy-archived.ts'
import { dialect } from './dialect.ts'

/** A statement that was sent to another thread and so is no `Sql` instance any more. */
interface SerializedSql {
  readonly strings: readonly string[]
  readonly values: readonly SqlValue[]
}

const serializeSql = ({ strings, values }: SerializedSql) => new Sql(strings, values)

/** A schema change as plain data. */
export type SchemaChange =
  | {
      readonly kind: 'migrate'
      readonly sets: readonly ReadSet[]
    }
  | { readonly kind: 'undo'; readonly migrations: readonly AppliedMigration[] }
  | { readonly kind: 'purge'; readonly module: string; readonly record: SerializedSql | undefined }
  | { readonly kind: 'restore'; readonly file: string; readonly record: SerializedSql | undefined }

/**
 * Makes the change in one transaction.
 * @returns the result of the corresponding `Storage` method
 * @throws {DatabaseError} `busy` if the write lock is taken: nothing has happened
 */
export function applyChange(connection: Connection, change: SchemaChange): unknown {
  const { database } = connection
  // A migration may sort or change a whole table, so SQLite's temporary data go to files.
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
      return changeSchema(connection, () => migrate(dialect, change.sets))
    case 'undo':
      return changeSchema(connection, () => undoMigrations(dialect, change.migrations))
    case 'purge':
      return changeSchema(connection, () =>
        purgeModule(dialect, change.module, change.record && serializeSql(change.record)),
      )
    case 'restore':
      return restore(connection, change.file, change.record && serializeSql(change.record))
  }
}

function restore(connection: Connection, file: string, record: Sql | undefined): ModuleData {
  return withArchived(connection, file, () => {
    const entries = archivedLedger(connection)
    const copy = function* (prefixes: readonly string[]): SchemaSteps<string[]> {
      assertNoExtraTables(connection.database, 'archived')
      for (const entry of entries) yield insertion(dialect, entry)
      return copyArchived(connection, prefixes)
    }
    return changeSchema(connection, () => restoreModule(dialect, file, entries, copy, record))
  })
}
