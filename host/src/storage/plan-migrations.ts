import type { MigrationFile } from './migration-files.ts'
import { MigrationError, type MigrationSet } from './storage.ts'

/** What the ledger remembers of an applied migration. */
export interface LedgerEntry {
  readonly module: string
  readonly name: string
  readonly checksum: string
}

/**
 * The files of a set that are still to be applied, in order.
 *
 * @throws {MigrationError} where the package is not the one whose migrations were applied, or a newer one
 */
export function planMigrations(
  set: MigrationSet,
  files: readonly MigrationFile[],
  ledger: readonly LedgerEntry[],
): MigrationFile[] {
  const applied = new Set<string>()
  for (const entry of ledger) {
    if (entry.module !== set.module) continue
    const file = files.find(({ name }) => name === entry.name)
    if (file === undefined) {
      throw new MigrationError(
        `${entry.name} of ${set.module} was applied to this database, but ${set.directory} has no such ` +
          'migration: this looks like an older version. Install the newer one again',
      )
    }
    if (file.checksum !== entry.checksum) {
      throw new MigrationError(
        `${file.path} of ${set.module} is not what was applied to this database as ${entry.name}: ` +
          'an applied migration never changes. Restore the file, and put the change into a new one',
      )
    }
    applied.add(entry.name)
  }
  return files.filter(({ name }) => !applied.has(name))
}
