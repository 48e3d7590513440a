import { type DatabaseId, findDatabaseId, isMigrated } from '@mortise/application'
import { many, type Transaction } from '@mortise/module-sdk'
import {
  type DatabaseAddress,
  type DatabaseInspection as Inspection,
  inspectDatabase as inspect,
  type LedgerEntry,
  type MigrationSet,
} from '@mortise/storage'
import { countDeadLetters } from './events/failed-event-queries.ts'
import { countFailedJobs } from './events/job-queries.ts'

/** The host's part of an inspection. */
interface Own {
  readonly databaseId: DatabaseId
  /** Modules with dead letters, and their number. */
  readonly dead: readonly { readonly module: string; readonly dead: number }[]
  /** Modules with failed jobs, and their number. */
  readonly failedJobs: readonly { readonly module: string; readonly failed: number }[]
}

export type DatabaseInspection = Omit<Inspection, 'own'> & Own

/**
 * For a damaged file the id, the dead letters and the failed jobs stay unknown.
 * @param quick leaves out what reads all rows of a SQLite file
 */
export async function inspectDatabase(
  place: DatabaseAddress,
  sets: readonly MigrationSet[],
  quick = false,
): Promise<DatabaseInspection | undefined> {
  const read = function* (ledger: readonly LedgerEntry[]): Transaction<Own> {
    const databaseId = yield* findDatabaseId(ledger)
    if (!isMigrated(ledger)) return { databaseId, dead: [], failedJobs: [] }
    const dead = yield* many<Own['dead'][number]>(countDeadLetters)
    const failedJobs = yield* many<Own['failedJobs'][number]>(countFailedJobs)
    return { databaseId, dead, failedJobs }
  }
  const found = await inspect(place, sets, read, quick)
  return found && { databaseId: null, dead: [], failedJobs: [], ...found, ...found.own }
}
