import { type ReadSet, readSets } from '../migrations/migrate.ts'
import type { MigrationFile } from '../migrations/migration-files.ts'
import type { MigrationSet } from '../port/storage.ts'
import type { PortableMigration } from './dialect.ts'

/** @throws {MigrationError} if a file is unreadable, refused, or missing for one of the engines */
export async function readPortableSets(sets: readonly MigrationSet[]): Promise<ReadSet<PortableMigration>[]> {
  const [own, sqlite] = await Promise.all([readSets(sets, 'postgres'), readSets(sets, 'sqlite')])
  return own.map(({ set, files }, at) => ({
    set,
    files: files.map((file, index) => ({ ...file, sqlite: sqlite[at]?.files[index] as MigrationFile })),
  }))
}
