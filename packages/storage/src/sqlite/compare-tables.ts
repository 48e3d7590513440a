import { type ComparedTables, compareParts, type TablePart } from '../migrations/table-parts.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import type { Connection } from './connection.ts'
import { describeParts } from './describe-tables.ts'
import { tableParts } from './tables-on-empty-database.ts'

/** See `DatabaseInspection`. */
export async function compareTables(
  connection: Connection,
  sets: readonly MigrationSet[],
): Promise<ComparedTables> {
  const actual = connection.all<TablePart>(tableParts)
  const compared = await Promise.all(
    sets.map(async (set) => {
      try {
        return { changed: compareParts(set.module, await describeParts(set), actual), unchecked: [] }
      } catch (error) {
        if (!(error instanceof MigrationError)) throw error
        const remedy = 'Run "app doctor" again while the machine has less to do.'
        return { changed: [], unchecked: [{ module: set.module, reason: error.message, remedy }] }
      }
    }),
  )
  return {
    changed: compared.flatMap(({ changed }) => changed),
    unchecked: compared.flatMap(({ unchecked }) => unchecked),
  }
}
