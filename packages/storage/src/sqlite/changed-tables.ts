import { type ChangedTables, compareParts, type TablePart } from '../migrations/table-parts.ts'
import type { MigrationSet } from '../port/storage.ts'
import type { Connection } from './connection.ts'
import { describeParts } from './describe-tables.ts'
import { tableParts } from './tables-on-empty-database.ts'

/** See `DatabaseInspection.changed`. */
export async function changedTables(
  connection: Connection,
  sets: readonly MigrationSet[],
): Promise<ChangedTables[]> {
  const actual = connection.all<TablePart>(tableParts)
  const made = await Promise.all(
    sets.map(async (set) => ({ set, expected: await describeParts(set).catch(() => []) })),
  )
  return made.flatMap(({ set, expected }) => compareParts(set.module, expected, actual))
}
