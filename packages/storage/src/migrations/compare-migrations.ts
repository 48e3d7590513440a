import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, LedgerEntry, MigrationSet } from '../port/storage.ts'
import { pendingMigrations } from './migrate.ts'
import { readMigrations } from './migration-files.ts'
import type { ComparedTables } from './table-parts.ts'

/**
 * The problems of a database. `changed` and `unchecked` are about modules whose migrations are all
 * applied: another program changed their tables.
 */
export interface DatabaseInspection<Own = unknown> extends ComparedTables {
  /** The result of the caller's own read; undefined for a damaged database. */
  readonly own: Own | undefined
  /** PostgreSQL: the reason why writes are refused while reads continue. */
  readonly refusal?: string | undefined
  /** The findings of SQLite's integrity check. PostgreSQL has no such check. */
  readonly damage: readonly string[]
  /** SQLite: the size of the file in bytes, and its free bytes for new rows. */
  readonly size?: { readonly bytes: number; readonly free: number }
  /** Rows with missing parents. */
  readonly orphans: readonly { readonly table: string; readonly parent: string; readonly rows: number }[]
  /** Migrations of a set that the database lacks. */
  readonly pending: readonly AppliedMigration[]
  /** Migrations of the database beyond the last one of their set. */
  readonly ahead: readonly AppliedMigration[]
  /** Why a set does not match the database: an applied migration has changed or is missing. */
  readonly unlike: readonly string[]
}

/**
 * Compares the migrations of packages with a ledger, both in their SQLite form. `current` are the
 * sets whose migrations are all applied, and no others.
 */
export async function compareMigrations(sets: readonly MigrationSet[], ledger: readonly LedgerEntry[]) {
  const pending: AppliedMigration[] = []
  const ahead: AppliedMigration[] = []
  const unlike: string[] = []
  const current: MigrationSet[] = []
  for (const set of sets) {
    const { module } = set
    try {
      const files = await readMigrations(set, 'sqlite')
      const last = files.at(-1)?.name ?? ''
      const missing = pendingMigrations([{ set, files }], ledger)
      const further = ledger.filter((entry) => entry.module === module && entry.name > last)
      pending.push(...missing)
      ahead.push(...further.map(({ name }) => ({ module, name })))
      if (missing.length + further.length === 0) current.push(set)
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      unlike.push(error.message)
    }
  }
  return { pending, ahead, unlike, current }
}
