import { NewerHostError } from '@mortise/application'
import { type AppliedMigration, readMigrations, type Storage } from '@mortise/storage'
import { hostVersion } from '../telemetry/version.ts'
import { hostMigrations } from './migration-sets.ts'

/**
 * Migrates the host's own tables. A module's tables may be ahead of its package, the host's may
 * not: nobody has tested this version on them.
 * @throws {NewerHostError} if a newer host has migrated them
 */
export async function migrateHost(storage: Storage): Promise<AppliedMigration[]> {
  const { module } = hostMigrations
  const known = new Set((await readMigrations(hostMigrations, storage.engine)).map(({ name }) => name))
  const applied = (await storage.applied()).filter((entry) => entry.module === module)
  const unknown = applied.filter(({ name }) => !known.has(name)).map(({ name }) => name)
  if (unknown.length > 0) {
    throw new NewerHostError(
      `the database was migrated by a newer host: it has ${unknown.join(', ')} of "${module}", which ${hostVersion} does not know`,
    )
  }
  return storage.migrate([hostMigrations])
}
