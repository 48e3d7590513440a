import { MigrationError } from '../port/errors.ts'
import type { LedgerEntry, MigrationSet } from '../port/storage.ts'
import type { MigrationFile } from './migration-files.ts'

/**
 * The pending files of a set, in order. The schema may be ahead of the package: a newer version was
 * installed, or its installation was interrupted. Migrations keep the previous version's statements
 * working.
 *
 * @throws {MigrationError} if the applied migrations differ from the package's, up to its last one
 */
export function planMigrations<File extends MigrationFile>(
  set: MigrationSet,
  files: readonly File[],
  ledger: readonly LedgerEntry[],
): File[] {
  const applied = new Set<string>()
  const last = files.at(-1)?.name ?? ''
  for (const entry of ledger) {
    if (entry.module !== set.module) continue
    if (entry.name > last) continue
    const file = files.find(({ name }) => name === entry.name)
    if (file === undefined) {
      throw new MigrationError(
        `${entry.name} of ${set.module} was applied to this database, but ${set.directory} has no such ` +
          'migration. Never delete an applied migration: restore the file',
      )
    }
    if (file.checksum !== entry.checksum) {
      throw new MigrationError(
        `${file.path} of ${set.module} has changed since it was applied to this database as ${entry.name}: ` +
          'never change an applied migration. Restore the file, and put the change into a new one',
      )
    }
    applied.add(entry.name)
  }
  return files.filter(({ name }) => !applied.has(name))
}
