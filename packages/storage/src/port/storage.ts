import type { Database, Engine, Sql } from '@mortise/module-sdk'
import type { Guard } from './guard.ts'

export interface Refusing {
  /** The reason for refusals now; undefined otherwise. */
  readonly refusal: string | undefined
  /** Refusals so far. */
  readonly refused: number
}

/** The migrations of one module, or of the host itself (module `host`). */
export interface MigrationSet {
  readonly module: string
  /** Absolute path of the folder with `NNN-name.sql`. */
  readonly directory: string
  /**
   * The required prefix of every table, index, view and trigger: `cart` owns `cart` and `cart_*`.
   */
  readonly tables: string
}

export interface AppliedMigration {
  readonly module: string
  /** File name without `.sql` and engine: `001-cart`. */
  readonly name: string
}

/** An applied migration in the ledger. */
export interface LedgerEntry extends AppliedMigration {
  readonly checksum: string
  /** The down migration; null if irreversible. */
  readonly down: string | null
  /** The prefix of its module. */
  readonly tables: string
  /** Epoch milliseconds. */
  readonly appliedAt: number
}

/**
 * The schema and ledger with which `openStorage({ schema })` makes an empty SQLite database like
 * this one. Modules are probed on it, whatever the engine of the application is.
 */
export interface DatabaseSchema {
  /** In an executable order. */
  readonly statements: readonly string[]
  /** In order of application. */
  readonly ledger: readonly LedgerEntry[]
}

/** The contents of a database in numbers. */
export interface DatabaseContents {
  readonly ledger: readonly LedgerEntry[]
  /** Rows by table, without the engines' own tables. */
  readonly rows: Readonly<Record<string, number>>
}

/** Data restored to the database, or removed from it. */
export interface ModuleData {
  readonly module: string
  /** The names of its tables. */
  readonly tables: readonly string[]
}

/** The port that every storage engine implements; modules see only its `Database` half. */
export interface Storage extends Database {
  readonly engine: Engine
  /** Several hosts may have the database open: others write to it, and take over. */
  readonly isShared: boolean
  /** The reason why it cannot be used now, a sentence; undefined while it can. */
  readonly trouble: string | undefined
  /**
   * The reason why writes are refused now while reads continue, a sentence; undefined otherwise.
   */
  readonly refusal: string | undefined
  /** Writes refused for that reason. */
  readonly refused: number
  /**
   * SQLite: the size of the write-ahead log in bytes, and the error of its last checkpoint;
   * otherwise undefined.
   */
  readonly wal: { readonly bytes: number; readonly failure: Error | undefined } | undefined
  /** Reads and writes that failed during an outage. PostgreSQL only. */
  readonly outage: Refusing
  /** Connections that the server refused while it served on the open ones. PostgreSQL only. */
  readonly newConnections: Refusing
  /** The current connections for transactions; undefined if one serves all. */
  readonly pool: { readonly open: number; readonly idle: number; readonly waiting: number } | undefined
  /**
   * Applies migrations, in the given order. One call is one transaction, ledger rows included: all
   * or nothing.
   * @returns the applied migrations, in order
   * @throws {MigrationError}
   */
  migrate(sets: readonly MigrationSet[]): Promise<AppliedMigration[]>
  /**
   * The migrations that `migrate` would apply.
   * @throws {MigrationError} for a file that is unreadable, refused, or differs from the applied
   * one
   */
  pending(sets: readonly MigrationSet[]): Promise<AppliedMigration[]>
  /** The applied migrations, in order of application. */
  applied(): Promise<readonly (AppliedMigration & { readonly reversible: boolean })[]>
  /**
   * Undoes these migrations by the `down` in the ledger, newest first, in one transaction with
   * their ledger rows. Skips those that are not applied.
   * @throws {MigrationError} that names the first one that is irreversible, or that a later one of
   * its module depends on; nothing has changed then
   */
  undo(migrations: readonly AppliedMigration[]): Promise<void>
  schema(): Promise<DatabaseSchema>
  /**
   * Judges the statements of one module before they run.
   * @param prefix of its tables; undefined for a module without tables
   */
  guard(prefix: string | undefined): Promise<Guard>
  /**
   * Writes a copy as of one moment to `file`, while the database is in use. The file is for its
   * owner only, appears only when complete, and is durable when this resolves. Replaces an existing
   * file.
   */
  copyTo(file: string): Promise<void>
  /**
   * Drops the tables of a module that no longer serves, and its ledger rows, in one transaction.
   * Skips what is dropped already.
   * @param record a statement of the same transaction, unless there was nothing to drop
   * @throws {MigrationError} if others depend on them; nothing has changed then
   */
  purge(module: string, record?: Sql): Promise<ModuleData>
  /**
   * Restores tables, rows and ledger rows of one module from a file of `extractModule`. Leaves
   * existing ones alone.
   * @param sets the migrations of all available packages, for a file from another engine
   * @param record a statement of the same transaction, unless everything existed
   * @throws {MigrationError} if something else is in their place; nothing has changed then
   */
  restoreModule(file: string, sets?: readonly MigrationSet[], record?: Sql): Promise<ModuleData>
  /**
   * Gives every committed outbox row without a position the next one, in the order of their
   * changes.
   */
  sequenceOutbox(): Promise<void>
  /**
   * Calls `listener` after a commit of outbox rows through this storage, or, on PostgreSQL, after
   * any other host has given them positions. Some calls come late or without need; changes by other
   * hosts during an outage cause none.
   * @returns a function that ends it
   */
  onOutbox(listener: () => void): () => Promise<void>
  /**
   * Refuses every write from now on, as `held`; resolves when earlier writes are done. Repeat it to
   * change what a refusal says. A file only.
   * @param reason a clause that callers see
   * @param retryAfter the seconds that it takes, if known
   * @throws {EngineError}
   */
  hold(reason: string, retryAfter?: number): Promise<void>
  /** Accepts writes again. */
  release(): void
  /** Finishes queued work, runs a checkpoint and closes. Later calls reject. */
  close(): Promise<void>
}

/** Observes writes. Called for each write. */
export interface StorageObserver {
  /** SQLite: one COMMIT with its number of transactions and its duration. */
  committed(transactions: number, milliseconds: number): void
  /** PostgreSQL: a retry. */
  retried(): void
}
