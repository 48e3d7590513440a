import { many } from '@mortise/module-sdk'
import {
  type DatabaseAddress,
  type DatabaseInspection as Inspection,
  inspectDatabase as inspect,
  type MigrationSet,
} from '@mortise/storage'
import { type DatabaseId, findDatabaseId } from './config/database-id.ts'
import { deadLetters, hasFailedEventTable } from './events/dead-reactions.ts'

/** What a host wants to know of a database. */
interface Own {
  readonly databaseId: DatabaseId
  /** Modules that have failed on events for the last time, and on how many. */
  readonly dead: readonly { readonly module: string; readonly dead: number }[]
}

export type DatabaseInspection = Omit<Inspection, 'own'> & Own

/** See `inspectDatabase` of `@mortise/storage`. Of a damaged file neither the id is known nor who has failed. */
export async function inspectDatabase(
  place: DatabaseAddress,
  sets: readonly MigrationSet[],
): Promise<DatabaseInspection | undefined> {
  const found = await inspect<Own>(place, sets, function* (ledger) {
    const databaseId = yield* findDatabaseId(ledger)
    return { databaseId, dead: hasFailedEventTable(ledger) ? yield* many(deadLetters) : [] }
  })
  return found && { databaseId: null, dead: [], ...found, ...found.own }
}
