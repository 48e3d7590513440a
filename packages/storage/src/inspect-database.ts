import type { Transaction } from '@mortise/module-sdk'
import type { DatabaseInspection } from './migrations/compare-migrations.ts'
import { type DatabaseAddress, openStorage } from './open-storage.ts'
import { NoDatabaseError } from './port/errors.ts'
import type { LedgerEntry, MigrationSet } from './port/storage.ts'

/**
 * Checks a database while hosts may serve from it.
 * @param read the caller's own read
 * @param quick leaves out what reads all rows of a SQLite file, and what runs migrations
 * @returns undefined without a database
 * @throws {StorageUnreachableError}
 */
export async function inspectDatabase<Own>(
  place: DatabaseAddress,
  sets: readonly MigrationSet[],
  read: (ledger: readonly LedgerEntry[]) => Transaction<Own>,
  quick = false,
): Promise<DatabaseInspection<Own> | undefined> {
  if ('file' in place) {
    const { inspectFile } = await import('./sqlite/inspect-file.ts')
    return inspectFile(place.file, sets, read, quick)
  }
  const { compareMigrations } = await import('./migrations/compare-migrations.ts')
  const { compareTables } = await import('./postgres/compare-tables.ts')
  const storage = await openStorage({ ...place, create: false }).catch((error) => {
    if (error instanceof NoDatabaseError) return undefined
    throw error
  })
  if (storage === undefined) return undefined
  try {
    const { ledger } = await storage.schema()
    const own = await storage.snapshot(() => read(ledger))
    const { current, ...migrations } = await compareMigrations(sets, ledger)
    const tables = quick ? { changed: [], unchecked: [] } : await compareTables(place.url, current)
    return { own, refusal: storage.refusal, damage: [], orphans: [], ...migrations, ...tables }
  } finally {
    await storage.close()
  }
}
