import { many } from '@mortise/module-sdk'
import {
  type DatabaseAddress,
  type DatabaseInspection as Inspection,
  inspectDatabase as inspect,
  type MigrationSet,
} from '@mortise/storage'
import { type DatabaseId, findDatabaseId } from './config/database-id.ts'
import { deadLetters, hasFailedEventTable } from './events/dead-reactions.ts'

/** The host's part of an inspection. */
interface Own {
  readonly databaseId: DatabaseId
  /** Modules with dead letters, and their number. */
  readonly dead: readonly { readonly module: string; readonly dead: number }[]
}

export type DatabaseInspection = Omit<Inspection, 'own'> & Own

/**
 * See `inspectDatabase` of `@mortise/storage`. For a damaged file the id and the dead letters stay
 * unknown.
 */
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
