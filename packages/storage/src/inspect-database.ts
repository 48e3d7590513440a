import { readDatabaseId } from './database-id.ts'
import { compareMigrations, type DatabaseInspection } from './database-inspection.ts'
import { deadReactions, hasReactions } from './event/dead-reactions.ts'
import { type DatabasePlace, openStorage } from './open-storage.ts'
import { inspectDatabase as inspectFile } from './sqlite/inspect-database.ts'
import { type MigrationSet, NoDatabaseError } from './storage.ts'

/**
 * Looks a database through while hosts may serve from it.
 * @returns undefined where there is none
 * @throws {StorageUnreachableError}
 */
export async function inspectDatabase(
  place: DatabasePlace,
  sets: readonly MigrationSet[],
): Promise<DatabaseInspection | undefined> {
  if ('file' in place) return inspectFile(place.file, sets)
  const storage = await openStorage({ ...place, onFatal: () => {}, create: false }).catch((error) => {
    if (error instanceof NoDatabaseError) return undefined
    throw error
  })
  if (storage === undefined) return undefined
  try {
    const { ledger } = await storage.schema()
    const dead = hasReactions(ledger)
      ? await storage.many<DatabaseInspection['dead'][number]>(deadReactions)
      : []
    const databaseId = await readDatabaseId(storage)
    return { databaseId, damage: [], orphans: [], dead, ...(await compareMigrations(sets, ledger)) }
  } finally {
    await storage.close()
  }
}
