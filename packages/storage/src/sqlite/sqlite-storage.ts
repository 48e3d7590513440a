import type { ReadOptions, SnapshotOptions } from '@mortise/module-sdk'
import type { Sql } from '@mortise/module-sdk/sql'
import { DatabaseError, firstOf, type Transaction } from '@mortise/module-sdk/transaction'
import type { FileLock } from '../files/file-lock.ts'
import { pendingMigrations, readSets } from '../migrations/migrate.ts'
import { engines } from '../port/engines.ts'
import { BrokenStorageError, isLocked, isShortage, ShortageError } from '../port/errors.ts'
import type { Guard } from '../port/guard.ts'
import type { Outbox } from '../port/steps.ts'
import type {
  AppliedMigration,
  DatabaseSchema,
  LedgerEntry,
  MigrationSet,
  ModuleData,
  Storage,
  StorageObserver,
} from '../port/storage.ts'
import { Checkpoints } from './checkpoints.ts'
import { type Connection, retryWhileBusy } from './connection.ts'
import { copyDatabase } from './copy-database.ts'
import { GroupCommit } from './group-commit.ts'
import { lockedFile } from './locked-file.ts'
import { type OnSlowRead, Reads } from './reads.ts'
import { runInThread } from './run-in-thread.ts'
import { databaseSchema, readLedger } from './schema.ts'
import { applyChange, type SchemaChange } from './schema-change.ts'
import type { SchemaWork } from './schema-thread.ts'
import { SqliteGuard } from './sqlite-guard.ts'
import { type SpaceOptions, WriteRefusals } from './write-refusals.ts'

/** How often to look whether others have changed the schema, in milliseconds. */
const SCHEMA_INTERVAL = 1_000

/** Groups of transactions between two looks at the size of the log: a look costs as much as a read. */
const GROUPS_PER_LOOK = 8

/**
 * Reads (`Reads`) have connections of their own, and see earlier commits; writes go through
 * `GroupCommit`. After `onFatal` nothing more is accepted.
 */
export class SqliteStorage implements Storage {
  readonly engine = 'sqlite'
  readonly isShared = engines.sqlite.isShared
  readonly trouble = undefined
  readonly outage = { refusal: undefined, refused: 0 }
  readonly newConnections = this.outage
  readonly pool = undefined
  readonly #writer: Connection
  readonly #reader: Connection
  readonly #reads: Reads
  readonly #lock: FileLock
  readonly #onClosed: () => void
  readonly #onFatal: (error: Error) => void
  readonly #onCheckpoint: ((failure: Error | undefined) => void) | undefined
  readonly #checkpoints: Checkpoints
  /** Whether there was a read or a transaction. */
  #isUsed = false
  #groups = 0
  readonly #writes: GroupCommit
  readonly #copies = new Set<Promise<unknown>>()
  readonly #listeners = new Set<() => void>()
  readonly #outbox: Outbox | undefined
  #sequenced = false
  #ended: Error | undefined
  readonly #refusals: WriteRefusals
  #closing: Promise<void> | undefined
  #schemaVersion: number
  readonly #schemaWatch: NodeJS.Timeout
  readonly #hasThreads: boolean

  constructor(options: {
    readonly writer: Connection
    readonly reader: Connection
    readonly lock: FileLock
    readonly onFatal: (error: Error) => void
    readonly onCheckpoint?: ((failure: Error | undefined) => void) | undefined
    readonly onSlowRead?: OnSlowRead | undefined
    readonly onClosed: () => void
    readonly rehearse: boolean
    readonly threads: boolean
    readonly outbox?: Outbox | undefined
    readonly observer?: StorageObserver | undefined
    readonly space?: SpaceOptions | undefined
  }) {
    this.#writer = options.writer
    this.#refusals = new WriteRefusals(options.space)
    this.#reader = options.reader
    this.#reads = new Reads(options.reader, options.outbox, options.onSlowRead, options.threads)
    this.#hasThreads = options.threads
    this.#outbox = options.outbox
    this.#lock = options.lock
    this.#onClosed = options.onClosed
    this.#onFatal = options.onFatal
    this.#onCheckpoint = options.onCheckpoint
    this.#writes = new GroupCommit(options.writer, this.#reads, {
      onBroken: (error) => this.#break(error),
      onShortage: (error) => this.#refusals.tried(error),
      outbox: options.outbox,
      onWritten: () => {
        for (const listener of this.#listeners) listener()
      },
      onPause: () => {
        this.#groups += 1
        // Writes during a copy stay in the log: the copy thread writes them back.
        if (this.#groups % GROUPS_PER_LOOK === 0 && this.#copies.size === 0 && this.#hasThreads)
          this.#checkpoints.run()
      },
      rehearse: options.rehearse,
      observer: options.observer,
    })
    this.#schemaVersion = versionOf(options.reader)
    this.#schemaWatch = setInterval(() => this.#noticeSchema(), SCHEMA_INTERVAL).unref()
    this.#checkpoints = new Checkpoints(options.writer.database, {
      exclusive: (work) => this.#writes.exclusive(work),
      onChange: options.onCheckpoint ?? (() => {}),
    })
  }

  get refusal(): string | undefined {
    return this.#refusals.reason
  }

  get wal() {
    const { bytes, failure } = this.#checkpoints
    return { bytes, failure }
  }

  get refused(): number {
    return this.#refusals.count
  }

  many<Row>(query: Sql, options?: ReadOptions): Promise<Row[]> {
    return this.#reading(() => this.#reads.many<Row>(query, options))
  }

  maybeOne<Row>(query: Sql, options?: ReadOptions): Promise<Row | undefined> {
    return this.#reading(() => this.#reads.first<Row>(query, options))
  }

  async one<Row>(query: Sql, options?: ReadOptions): Promise<Row> {
    const row = await this.maybeOne<Row>(query, options)
    return row === undefined ? firstOf<Row>([]) : row
  }

  snapshot<Result>(steps: () => Transaction<Result>, options?: SnapshotOptions): Promise<Result> {
    return this.#reading(() => this.#reads.snapshot(steps, options))
  }

  transaction<Result>(steps: () => Transaction<Result>): Promise<Result> {
    this.#isUsed = true
    const { now } = this.#refusals
    if (now !== undefined) return this.#refusals.refuse(now)
    return this.#writes.transaction(steps)
  }

  async migrate(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
    const read = await readSets(sets, 'sqlite')
    if (pendingMigrations(read, this.#ledger()).length === 0) return []
    if (this.#refusals.low !== undefined) throw this.#refusals.low
    return this.#change({ kind: 'migrate', sets: read })
  }

  async pending(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
    return pendingMigrations(await readSets(sets, 'sqlite'), this.#ledger())
  }

  async applied() {
    return this.#ledger().map(({ module, name, down }) => ({ module, name, reversible: down !== null }))
  }

  undo(migrations: readonly AppliedMigration[]): Promise<void> {
    return this.#change({ kind: 'undo', migrations })
  }

  async schema(): Promise<DatabaseSchema> {
    // One turn of the event loop without commits in between: statements and ledger belong together.
    return this.#read(() => databaseSchema(this.#reader))
  }

  async guard(prefix: string | undefined): Promise<Guard> {
    return new SqliteGuard(this.#reader, prefix)
  }

  async copyTo(file: string): Promise<void> {
    this.#assertOpen()
    const copy = copyDatabase(this.#writer.database.name, file)
    this.#copies.add(copy)
    try {
      await copy
    } finally {
      this.#copies.delete(copy)
      this.#checkpoints.run()
    }
  }

  purge(module: string, record?: Sql): Promise<ModuleData> {
    return this.#change({ kind: 'purge', module, record: plain(record) })
  }

  restoreModule(file: string, _sets?: readonly MigrationSet[], record?: Sql): Promise<ModuleData> {
    return this.#change({ kind: 'restore', file, record: plain(record) })
  }

  /** Only data from PostgreSQL have such rows; none are added. */
  async sequenceOutbox(): Promise<void> {
    const outbox = this.#outbox
    if (outbox === undefined || this.#sequenced) return
    while ((await this.maybeOne(outbox.unplaced)) !== undefined)
      await this.transaction(() => outbox.place(this.isShared))
    this.#sequenced = true
  }

  onOutbox(listener: () => void): () => Promise<void> {
    this.#listeners.add(listener)
    return async () => void this.#listeners.delete(listener)
  }

  async hold(reason: string, retryAfter?: number): Promise<void> {
    this.#assertOpen()
    this.#refusals.hold(new DatabaseError('held', reason, { retryAfter }))
    await this.#writes.idle()
  }

  release(): void {
    this.#refusals.release()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearInterval(this.#schemaWatch)
    this.#refusals.close()
    const closed = new DatabaseError('other', 'the storage is closed')
    const written = this.#writes.end(closed)
    await this.#checkpoints.stop()
    await written
    await Promise.allSettled(this.#copies)
    const broken = this.#ended !== undefined
    this.#ended ??= closed
    await this.#reads.close(this.#ended)
    try {
      this.#reader.database.close()
      // The last connection that closes runs a checkpoint, which must not happen on a disk that has
      // just failed.
      if (broken) return
      try {
        this.#endLog()
      } finally {
        this.#writer.close()
      }
    } finally {
      this.#onClosed()
      this.#lock.release()
    }
  }

  /**
   * If the log stays, the next open of the database finds it.
   * @throws {Error} unless a listener gets it
   */
  #endLog(): void {
    try {
      this.#checkpoints.end()
    } catch (error) {
      if (this.#onCheckpoint === undefined) throw error
      this.#onCheckpoint(error as Error)
    }
  }

  /**
   * Changes the schema between the groups of `#writes`: in a thread, since it may read all rows,
   * unless nobody is there to wait for it. A thread takes longer to start than such a change.
   */
  async #change<Result>(change: SchemaChange): Promise<Result> {
    this.#assertOpen()
    try {
      const result = await this.#writes.exclusive(async () => {
        this.#assertOpen()
        if (this.#refusals.held !== undefined) throw this.#refusals.held
        if (this.#hasThreads && !this.#servesNobody(change)) {
          const work: SchemaWork = { file: this.#writer.database.name, change }
          return runInThread('schema-thread', work, () => this.#schemaChanged())
        }
        const changed = retryWhileBusy(() => applyChange(this.#writer, change))
        const result = await changed.finally(() => this.#schemaChanged())
        await this.#writer.sync()
        return result
      })
      return result as Result
    } catch (error) {
      if (error instanceof BrokenStorageError) this.#break(error)
      if (isShortage(error) && error !== this.#refusals.low) this.#refusals.tried(error)
      if (isLocked(error)) throw lockedFile(this.#writer.database.name, error)
      throw error
    }
  }

  /** Whether nobody has used the database, and the change finds no rows. */
  #servesNobody(change: SchemaChange): boolean {
    const ledger = readLedger(this.#reader)
    if (ledger.length === 0) return true
    if (this.#isUsed || change.kind !== 'migrate') return false
    const modules = change.sets.map(({ set }) => set.module)
    return !ledger.some(({ module }) => modules.includes(module))
  }

  #ledger(): LedgerEntry[] {
    return this.#read(() => readLedger(this.#reader))
  }

  /** SQLite compiles statements again by itself, but "*" may have other columns. */
  #noticeSchema(): void {
    if (this.#ended !== undefined) return
    try {
      if (versionOf(this.#reader) !== this.#schemaVersion) this.#schemaChanged()
    } catch {
      // The next statement has the same trouble, and a caller.
    }
  }

  #schemaChanged(): void {
    this.#schemaVersion = versionOf(this.#reader)
    this.#writer.schemaChanged()
    this.#reads.schemaChanged()
  }

  async #reading<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    this.#assertOpen()
    this.#isUsed = true
    try {
      const result = await work()
      this.#assertOpen()
      return result
    } catch (error) {
      throw this.#noted(error)
    }
  }

  #read<Result>(work: () => Result): Result {
    this.#assertOpen()
    try {
      return work()
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** Handles an error of a read, which may end everything. */
  #noted(error: unknown): unknown {
    if (error instanceof BrokenStorageError) this.#break(error)
    if (error instanceof ShortageError) this.#refusals.tried(error)
    return error
  }

  #assertOpen(): void {
    if (this.#ended !== undefined) throw this.#ended
  }

  #break(error: BrokenStorageError): void {
    if (this.#ended !== undefined) return
    const { afterwards } = error
    this.#ended = afterwards
    this.#writes.abort(afterwards)
    void this.#checkpoints.stop()
    this.#onFatal(error)
  }
}

const versionOf = ({ database }: Connection) => database.pragma('schema_version', { simple: true }) as number

const plain = (query: Sql | undefined) => query && { strings: [...query.strings], values: query.values }
