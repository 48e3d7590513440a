import type { Config } from '@mortise/application'
import { type LockFile, readPackage, storedModule } from '@mortise/application'
import type { AppliedMigration, Storage } from '@mortise/storage'
import { moduleMigrations } from './migration-sets.ts'

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
