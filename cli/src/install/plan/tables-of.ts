import { join, sep } from 'node:path'
import {
  describeTables,
  MigrationError,
  type ModulePackage,
  moduleMigrations,
  type Table,
} from '@mortise/host'
import { wrongMigration } from '../../failures/index.ts'

/**
 * The tables that a module's migrations create, on an empty database in memory. None of the
 * module's code runs.
 * @param own whether the module is in a folder of the operator
 * @throws {Failure} `migration-failed`
 */
export async function tablesOf(found: ModulePackage, own = false): Promise<readonly Table[]> {
  const [set] = moduleMigrations([found])
  if (set === undefined) return []
  try {
    return await describeTables(set)
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    // The staging path is gone when the operator reads the message.
    const reason = error.message.replaceAll(join(found.directory, sep), '')
    const hint = own ? 'own' : 'others'
    throw wrongMigration({ id: found.manifest.id, reason, hint, cause: error })
  }
}
