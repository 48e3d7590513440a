import type { SchemaSteps } from '../migrations/dialect.ts'
import { purgeModule } from '../migrations/purge.ts'
import { undoMigrations } from '../migrations/undo.ts'
import type { AppliedMigration } from '../port/storage.ts'
import { changeSchema, runSteps } from './change-schema.ts'
import { dialect } from './dialect.ts'
import { withConnection } from './with-connection.ts'

// A change of the schema is tried in a transaction that is rolled back: only this finds what others
// have on its tables, such as a view for reports. Hosts may serve meanwhile.

/**
 * @param modules those that others refer to come last
 * @throws {MigrationError} if they cannot be purged
 * @throws {DatabaseLockedError}
 * @throws {StorageUnreachableError}
 */
export const tryPurge = (url: string, modules: readonly string[]): Promise<void> =>
  tryOut(url, function* () {
    for (const module of modules) yield* purgeModule(dialect, module)
  })

/**
 * @throws {MigrationError} if they cannot be undone
 * @throws {DatabaseLockedError}
 * @throws {StorageUnreachableError}
 */
export const tryUndo = (url: string, migrations: readonly AppliedMigration[]): Promise<void> =>
  tryOut(url, () => undoMigrations(dialect, migrations))

async function tryOut(url: string, steps: () => SchemaSteps<void>): Promise<void> {
  try {
    await withConnection(url, (client) =>
      changeSchema(client, async (query) => {
        await runSteps(query, steps())
        throw new RolledBack()
      }),
    )
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
  }
}

class RolledBack extends Error {}
