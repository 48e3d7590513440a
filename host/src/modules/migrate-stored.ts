import type { AppliedMigration, Storage } from '@mortise/storage'
import type { Config } from '../config/config.ts'
import { type LockFile, storedModule } from './lock-file.ts'
import { moduleMigrations } from './migration-sets.ts'
import { readPackage } from './read-package.ts'

/** @throws {MigrationError} */
export async function migrateStored(
  config: Config,
  storage: Storage,
  modules: LockFile['modules'],
): Promise<AppliedMigration[]> {
  const packages = await Promise.all(
    Object.values(modules).map((locked) => readPackage(storedModule(config.directory, locked))),
  )
  return storage.migrate(moduleMigrations(packages))
}
