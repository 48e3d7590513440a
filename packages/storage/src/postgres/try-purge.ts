import { DatabaseError } from '@mortise/module-sdk/transaction'
import { purgeModule } from '../migrations/purge.ts'
import { MigrationError } from '../port/errors.ts'
import { changeSchema, runSteps } from './change-schema.ts'
import { dialect } from './dialect.ts'
import { withConnection } from './with-connection.ts'

/**
 * Purges modules in a transaction that it rolls back: only this finds other objects in the schema,
 * such as a view for reports. Hosts may serve meanwhile.
 * @param modules those that others refer to come last
 * @throws {MigrationError} if they cannot be purged
 * @throws {StorageUnreachableError}
 */
export async function tryPurge(url: string, modules: readonly string[]): Promise<void> {
  try {
    await withConnection(url, (client) =>
      changeSchema(client, async (query) => {
        for (const module of modules) await runSteps(query, purgeModule(dialect, module))
        throw new RolledBack()
      }),
    )
  } catch (error) {
    if (error instanceof RolledBack) return
    if (!(error instanceof DatabaseError && error.kind === 'busy')) throw error
    throw new MigrationError(`the tables are in use: ${error.message}`, { cause: error })
  }
}

class RolledBack extends Error {}
