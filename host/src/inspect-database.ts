import { many } from '@mortise/module-sdk'
import {
  type DatabaseAddress,
  type DatabaseInspection as Inspection,
  inspectDatabase as inspect,
  type MigrationSet,
} from '@mortise/storage'
import { type DatabaseId, findDatabaseId } from './config/database-id.ts'
import { countDeadLetters, hasFailedEventTable } from './events/dead-letters.ts'

/** The host's part of an inspection. */
interface Own {
  readonly databaseId: DatabaseId
  /** Modules with dead letters, and their number. */
  readonly dead: readonly { readonly module: string; readonly dead: number }[]
}

export type DatabaseInspection = Omit<Inspection, 'own'> & Own

/** For a damaged file the id and the dead letters stay unknown. */
export async function inspectDatabase(
  place: DatabaseAddress,
  sets: readonly MigrationSet[],
): Promise<DatabaseInspection | undefined> {
  const found = await inspect<Own>(place, sets, function* (ledger) {
    const databaseId = yield* findDatabaseId(ledger)
    return { databaseId, dead: hasFailedEventTable(ledger) ? yield* many(countDeadLetters) : [] }
  })
  return found && { databaseId: null, dead: [], ...found, ...found.own }
}
