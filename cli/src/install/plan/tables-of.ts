import { join, sep } from 'node:path'
import {
  describeTables,
  MigrationError,
  type ModulePackage,
  moduleMigrations,
  type Table,
} from '@mortise/host'
import { wrongMigration, wrongMigrationOfYours } from '../../failures/index.ts'

/**
 * The tables that a module's migrations make. They run on an empty database in memory; nothing of the module's
 * code does.
 * @param own whether it lies in a folder of who runs the command
 * @throws {Failure} `migration-failed`
 */
export async function tablesOf(found: ModulePackage, own = false): Promise<readonly Table[]> {
  const [set] = moduleMigrations([found])
  if (set === undefined) return []
  try {
    return await describeTables(set)
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    // It lies in staging, and will not any more when somebody looks.
    const reason = error.message.replaceAll(join(found.directory, sep), '')
    throw own
      ? wrongMigrationOfYours({ id: found.manifest.id, reason, cause: error })
      : wrongMigration({ id: found.manifest.id, reason, cause: error })
  }
}
