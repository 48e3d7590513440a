import type { Database, Sql } from '@mortise/module-sdk'

export interface Refusing {
  /** Why something is refused now; undefined while all is taken. */
  readonly refusal: string | undefined
  /** How often it was refused. */
  readonly refused: number
}

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

export type Engine = 'sqlite' | 'postgres'

/** What the ledger remembers of an applied migration. */
export interface LedgerEntry extends AppliedMigration {
  readonly checksum: string
  /** Undoes it; null where it is irreversible. */
  readonly down: string | null
  /** The prefix that its module had; null where an older host applied it, until the module migrates again. */
  readonly tables: string | null
  /** Epoch milliseconds. */
  readonly appliedAt: number
}

/**
 * Enough to make an empty SQLite database with the same schema and ledger, `openStorage({ schema })`: what modules
 * are tried on, whatever the engine of the application is.
 */
export interface DatabaseSchema {
  /** In an order in which they can be run. */
  readonly statements: readonly string[]
  /** In order of application. */
  readonly ledger: readonly LedgerEntry[]
}

/** How much a database holds. */
export interface DatabaseContents {
  readonly ledger: readonly LedgerEntry[]
  /** The number of rows by table, what the engines keep for themselves aside. */
  readonly rows: Readonly<Record<string, number>>
}

/** What was given back to the database, or taken from it. */
export interface ModuleData {
  readonly module: string
  /** The names of its tables. */
  readonly tables: readonly string[]
}

/** The port that every storage engine implements; modules see only its `Database` half. */
export interface Storage extends Database {
  readonly engine: Engine
  /** Why it cannot be used now, in a sentence; undefined while it can. */
  readonly trouble: string | undefined
  /** Why writes are refused now, while reads go on, in a sentence; undefined while they are taken. */
  readonly refusal: string | undefined
  /** How many writes were refused so. */
  readonly refused: number
  /**
   * SQLite: how large the write-ahead log is, in bytes, and why it cannot be written back into the database file; undefined
   * elsewhere.
   */
  readonly wal: { readonly bytes: number; readonly failure: Error | undefined } | undefined
  /** The reads and writes that failed since it could not be used. PostgreSQL only. */
  readonly outage: Refusing
  /** Connections for transactions now; undefined where there is one for all. */
  readonly pool: { readonly open: number; readonly idle: number; readonly waiting: number } | undefined
  /**
   * Brings the schema up, in the order given. One call is one transaction, ledger rows included: all of it
   * is applied, or nothing is.
   * @returns what was applied, in order
   * @throws {MigrationError}
   */
  migrate(sets: readonly MigrationSet[]): Promise<AppliedMigration[]>
  /** What `migrate` would apply. @throws {MigrationError} where a file is unreadable, refused, or differs from what was applied */
  pending(sets: readonly MigrationSet[]): Promise<AppliedMigration[]>
  /** What was applied, in order of application. */
  applied(): Promise<readonly (AppliedMigration & { readonly reversible: boolean })[]>
  /**
   * Undoes these by the `down` that the ledger has, newest first, in one transaction with their ledger rows.
   * Those that are not applied are skipped.
   * @throws {MigrationError} naming the first that is irreversible, or on which a later one of its module rests;
   *   nothing has changed then
   */
  undo(migrations: readonly AppliedMigration[]): Promise<void>
  schema(): Promise<DatabaseSchema>
  /**
   * Writes a copy as of one moment, while the database is read and written, to `file`: for its owner only,
   * complete or not there, on the disk when it resolves. Replaces what is there.
   */
  copyTo(file: string): Promise<void>
  /**
   * Drops the tables of a module that no longer serves, and its ledger rows, in one transaction. What was
   * dropped already is skipped.
   * @param record a statement of the same transaction, unless there was nothing to drop
   * @throws {MigrationError} where others depend on them; nothing has changed then
   */
  purge(module: string, record?: Sql): Promise<ModuleData>
  /**
   * Brings tables, rows and ledger rows of one module back from a file that `extractModule` has made. Those
   * that are there already are left alone.
   * @param sets the migrations of all packages at hand, for a file that was made on another engine
   * @param record a statement of the same transaction, unless all was there already
   * @throws {MigrationError} where something else is in their place; nothing has changed then
   */
  restoreModule(file: string, sets?: readonly MigrationSet[], record?: Sql): Promise<ModuleData>
  /** Gives every row of the outbox that was committed without a position the next one, in the order of their changes. */
  sequenceOutbox(): Promise<void>
  /**
   * Calls `listener` after rows of the outbox were committed through this storage, or, on PostgreSQL, given their positions
   * through any other: late or in vain now and then, and not for what others do while the server cannot be reached.
   * @returns what ends it
   */
  onOutbox(listener: () => void): () => Promise<void>
  /**
   * Refuses every write from now on, as `held`; resolves when those that were begun are done. SQLite only.
   * @throws {EngineError}
   */
  hold(): Promise<void>
  /** Takes writes again. */
  release(): void
  /** Finishes what is queued, checkpoints, closes. What is asked of it afterwards rejects. */
  close(): Promise<void>
}

/** Hears how writing goes, on the way of each write. */
export interface StorageObserver {
  /** SQLite: so many transactions had one COMMIT, which took so long. */
  committed(transactions: number, milliseconds: number): void
  /** PostgreSQL: work is tried again. */
  retried(): void
}
