import type { Database } from '@mortise/module-sdk'

/** The migrations of one module, or of the host itself (module `host`). */
export interface MigrationSet {
  readonly module: string
  /** Absolute path of the folder that holds `NNN-name.sql`. */
  readonly directory: string
  /** The prefix that every table, index, view and trigger made here must have: `cart` owns `cart` and `cart_*`. */
  readonly tables: string
}

export interface AppliedMigration {
  readonly module: string
  /** File name without `.sql` and engine: `001-cart`. */
  readonly name: string
}

/** The port that every storage engine implements; modules see only its `Database` half. */
export interface Storage extends Database {
  readonly engine: 'sqlite'
  /**
   * Brings the schema up, in the order given. One call is one transaction, ledger rows included: all of it
   * is applied, or nothing is.
   * @returns what was applied, in order
   * @throws {MigrationError}
   */
  migrate(sets: readonly MigrationSet[]): Promise<AppliedMigration[]>
  /** What `migrate` would apply. @throws {MigrationError} where a file is unreadable, refused, or differs from what was applied */
  pending(sets: readonly MigrationSet[]): Promise<AppliedMigration[]>
  /** Finishes what is queued, checkpoints, closes. What is asked of it afterwards rejects. */
  close(): Promise<void>
}

/** A migration that cannot be applied; the message names the file, says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** Another process, or another part of this one, has the database open. */
export class StorageBusyError extends Error {
  override readonly name = 'StorageBusyError'
}
