import { openDatabase } from '../files/open-database.ts'
import { compareMigrations } from '../migrations/compare-migrations.ts'
import { isOwn } from '../migrations/foreign-change.ts'
import { compareParts, type TablePart } from '../migrations/table-parts.ts'
import { quoted } from '../port/quoted.ts'
import type { MigrationSet } from '../port/storage.ts'
import { Connection } from './connection.ts'
import { describeParts } from './describe-tables.ts'
import { readLedger } from './schema.ts'
import { tableParts } from './tables-on-empty-database.ts'

/** What a file has that its migrations do not make, for people. */
export interface ForeignParts {
  /** Objects that were removed: `the trigger "audit" on "product"`. */
  readonly removed: readonly string[]
  /** Clauses about tables that stay: `the column "note" of "product" was added`. */
  readonly differences: readonly string[]
}

interface FileObject {
  readonly type: 'table' | 'index' | 'view' | 'trigger'
  readonly name: string
  readonly table: string
}

/**
 * Removes from a file, which nobody has open, the tables, views, indexes and triggers that no
 * migration of its ledger makes. The prefixes of the modules decide. For modules whose migrations are
 * in `sets`, and all applied, what these migrations make decides.
 * @throws {Error} from SQLite
 */
export async function takeOutForeign(file: string, sets: readonly MigrationSet[]): Promise<ForeignParts> {
  const database = openDatabase(file, { fileMustExist: true })
  try {
    for (const pragma of ['trusted_schema = OFF', 'foreign_keys = OFF']) database.pragma(pragma)
    const connection = new Connection(database)
    const ledger = readLedger(connection)
    const prefixes = ledger.map(({ tables }) => tables)
    const { current } = await compareMigrations(
      sets.filter(({ module }) => ledger.some((entry) => entry.module === module)),
      ledger,
    )
    const made = await Promise.all(
      [...new Map(current.map((set) => [set.module, set])).values()].map(async (set) => ({
        ...{ module: set.module, prefix: set.tables },
        expected: await describeParts(set).catch((): TablePart[] => []),
      })),
    )
    const isForeign = ({ type, name, table }: FileObject) => {
      const owner = prefixes.find((prefix) => isOwn(prefix, name))
      if (owner === undefined || !isOwn(owner, table)) return true
      const parts = made.find(({ prefix, expected }) => prefix === owner && expected.length > 0)?.expected
      const part = type === 'table' || type === 'view' ? 'table' : `${type} "${name}"`
      return parts !== undefined && !parts.some((one) => one.table === table && one.part === part)
    }
    const objects = database
      .prepare(
        `SELECT type, name, tbl_name AS "table" FROM sqlite_schema
         WHERE sql IS NOT NULL AND name <> 'mortise_migration' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'postgres/*'
           AND name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow')
         ORDER BY type <> 'trigger', type <> 'view', type <> 'index', rowid`,
      )
      .all() as FileObject[]
    const foreign = objects.filter(isForeign)
    for (const { type, name } of foreign) database.exec(`DROP ${type} IF EXISTS ${quoted(name)}`)
    const actual = connection.all<TablePart>(tableParts)
    const changed = made.flatMap(({ module, expected }) => compareParts(module, expected, actual))
    return {
      removed: foreign.map(({ type, name, table }) =>
        type === 'index' || type === 'trigger'
          ? `the ${type} "${name}" on "${table}"`
          : `the ${type} "${name}"`,
      ),
      differences: changed.flatMap(({ differences }) => differences),
    }
  } finally {
    database.close()
  }
}
