import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, LedgerEntry, MigrationSet } from '../port/storage.ts'
import { readMigrations } from './migration-files.ts'
import { planMigrations } from './plan-migrations.ts'

/** What is wrong with a database. */
export interface DatabaseInspection<Own = unknown> {
  /** What the caller has read in it; undefined where it is damaged. */
  readonly own: Own | undefined
  /** What SQLite's own check finds: pages, indexes, constraints. PostgreSQL looks after itself. */
  readonly damage: readonly string[]
  /** SQLite: the size of the file in bytes, and how many of those hold nothing, for rows to come. */
  readonly size?: { readonly bytes: number; readonly free: number }
  /** Rows that refer to others which are gone. */
  readonly orphans: readonly { readonly table: string; readonly parent: string; readonly rows: number }[]
  /** Migrations that a set has and the database not. */
  readonly pending: readonly AppliedMigration[]
  /** Migrations that the database has, beyond the last one of their set. */
  readonly ahead: readonly AppliedMigration[]
  /** Why a set cannot be held against the database: what was applied has changed or is gone. */
  readonly unlike: readonly string[]
}

/** Holds the migrations of packages against a ledger, both as SQLite has them. */
export async function compareMigrations(sets: readonly MigrationSet[], ledger: readonly LedgerEntry[]) {
  const pending: AppliedMigration[] = []
  const ahead: AppliedMigration[] = []
  const unlike: string[] = []
  for (const set of sets) {
    const { module } = set
    try {
      const files = await readMigrations(set, 'sqlite')
      const last = files.at(-1)?.name ?? ''
      pending.push(...planMigrations(set, files, ledger).map(({ name }) => ({ module, name })))
      const further = ledger.filter((entry) => entry.module === module && entry.name > last)
      ahead.push(...further.map(({ name }) => ({ module, name })))
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      unlike.push(error.message)
    }
  }
  return { pending, ahead, unlike }
}
