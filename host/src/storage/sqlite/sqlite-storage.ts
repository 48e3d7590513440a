import { DatabaseError, firstOf, type Sql, type Transaction } from '@mortise/module-sdk'
import { givePositions, unplaced } from '../event-tables.ts'
import { readMigrations } from '../migration-files.ts'
import { RecentRefusals } from '../recent-refusals.ts'
import type {
  AppliedMigration,
  DatabaseSchema,
  MigrationSet,
  ModuleData,
  Storage,
  StorageObserver,
} from '../storage.ts'
import type { Connection } from './connection.ts'
import { copyDatabase } from './copy-database.ts'
import { BrokenStorageError, isShortage, ShortageError } from './database-error.ts'
import { drive } from './drive.ts'
import type { FileLock } from './file-lock.ts'
import { FreeSpace, type Volume } from './free-space.ts'
import { GroupCommit } from './group-commit.ts'
import { readLedger } from './ledger.ts'
import { applyMigrations, pendingMigrations } from './migrate.ts'
import { purgeModule } from './purge.ts'
import { restoreModule } from './restore-module.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { databaseSchema } from './schema.ts'
import { undoMigrations } from './undo.ts'

/**
 * Reads run at once on a connection of their own, and see what was committed before them; writes go
 * through `GroupCommit`. After `onFatal` was called nothing more is accepted.
 */
export class SqliteStorage implements Storage {
  readonly engine = 'sqlite'
  readonly trouble = undefined
  readonly outage = { refusal: undefined, refused: 0 }
  readonly pool = undefined
  readonly #writer: Connection
  readonly #reader: Connection
  readonly #lock: FileLock
  readonly #onFatal: (error: Error) => void
  readonly #writes: GroupCommit
  readonly #copies = new Set<Promise<void>>()
  readonly #listeners = new Set<() => void>()
  #sequenced = false
  #ended: Error | undefined
  readonly #refusals = new RecentRefusals()
  readonly #space: FreeSpace | undefined
  #held: DatabaseError | undefined
  /** What writes are refused with before they are tried. */
  #refusal: DatabaseError | undefined
  #closing: Promise<void> | undefined

  constructor(options: {
    readonly writer: Connection
    readonly reader: Connection
    readonly lock: FileLock
    readonly onFatal: (error: Error) => void
    readonly rehearse: boolean
    readonly observer?: StorageObserver | undefined
    readonly space?:
      | { readonly read: () => Promise<Volume>; readonly keptFree: number | undefined }
      | undefined
  }) {
    this.#writer = options.writer
    this.#reader = options.reader
    this.#lock = options.lock
    this.#onFatal = options.onFatal
    this.#writes = new GroupCommit(options.writer, {
      onBroken: (error) => this.#break(error),
      onShortage: (error) => this.#refusals.add(error.message),
      onEmitted: () => {
        for (const listener of this.#listeners) listener()
      },
      rehearse: options.rehearse,
      observer: options.observer,
    })
    const { space } = options
    this.#space =
      space &&
      new FreeSpace({ read: space.read, configured: space.keptFree, onChange: () => this.#decideRefusal() })
  }

  get refusal(): string | undefined {
    return this.#refusal?.message ?? this.#refusals.reason
  }

  get refused(): number {
    return this.#refusals.count
  }

  async many<Row>(query: Sql): Promise<Row[]> {
    return this.#read(() => this.#reader.all<Row>(query))
  }

  async maybeOne<Row>(query: Sql): Promise<Row | undefined> {
    return this.#read(() => this.#reader.first<Row>(query))
  }

  async one<Row>(query: Sql): Promise<Row> {
    const row = this.#read(() => this.#reader.first<Row>(query))
    return row === undefined ? firstOf<Row>([]) : row
  }

  async snapshot<Result>(steps: () => Transaction<Result>): Promise<Result> {
    return this.#read(() => {
      const reader = this.#reader
      reader.begin()
      try {
        return drive(reader, steps)
      } finally {
        if (reader.inTransaction) reader.rollback()
      }
    })
  }

  transaction<Result>(steps: () => Transaction<Result>): Promise<Result> {
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal)
    return this.#writes.transaction(steps)
  }

  async migrate(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
    const files = await Promise.all(sets.map((set) => readMigrations(set, 'sqlite')))
    return this.#change(() => {
      const low = this.#space?.low
      if (low !== undefined && pendingMigrations(this.#writer, sets, files).length > 0) throw low
      return applyMigrations(this.#writer, sets, files)
    })
  }

  async pending(sets: readonly MigrationSet[]): Promise<AppliedMigration[]> {
    const files = await Promise.all(sets.map((set) => readMigrations(set, 'sqlite')))
    return this.#read(() => pendingMigrations(this.#reader, sets, files))
  }

  async applied() {
    const ledger = this.#read(() => readLedger(this.#reader))
    return ledger.map(({ module, name, down }) => ({ module, name, reversible: down !== null }))
  }

  undo(migrations: readonly AppliedMigration[]): Promise<void> {
    return this.#change(() => undoMigrations(this.#writer, migrations))
  }

  async schema(): Promise<DatabaseSchema> {
    // One turn of the event loop, in which nothing is committed: statements and ledger belong together.
    return this.#read(() => databaseSchema(this.#reader))
  }

  async copyTo(file: string): Promise<void> {
    this.#assertOpen()
    const copy = copyDatabase(this.#writer.database, file)
    this.#copies.add(copy)
    try {
      await copy
    } finally {
      this.#copies.delete(copy)
    }
  }

  purge(module: string, record?: Sql): Promise<ModuleData> {
    return this.#change(() => purgeModule(this.#writer, module, record))
  }

  restoreModule(file: string, _sets?: readonly MigrationSet[], record?: Sql): Promise<ModuleData> {
    return this.#change(() => restoreModule(this.#writer, file, record))
  }

  /** There are such events where the data come from PostgreSQL, and none are added. */
  async sequenceEvents(): Promise<void> {
    if (this.#sequenced) return
    while ((await this.maybeOne(unplaced)) !== undefined)
      await this.transaction(() => givePositions('sqlite'))
    this.#sequenced = true
  }

  onEvents(listener: () => void): () => Promise<void> {
    this.#listeners.add(listener)
    return async () => void this.#listeners.delete(listener)
  }

  async hold(): Promise<void> {
    this.#assertOpen()
    this.#held = new DatabaseError(
      'held',
      'the data are being moved to another database; nothing is written meanwhile',
    )
    this.#decideRefusal()
    await this.#writes.idle()
  }

  release(): void {
    this.#held = undefined
    this.#decideRefusal()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#space?.close()
    const closed = new DatabaseError(
      'other',
      'the storage is closed; nothing can be read or written any more',
    )
    await this.#writes.end(closed)
    await Promise.allSettled(this.#copies)
    const broken = this.#ended !== undefined
    this.#ended ??= closed
    try {
      this.#reader.database.close()
      if (!broken) this.#writer.database.pragma('wal_checkpoint(TRUNCATE)')
    } finally {
      this.#writer.database.close()
      this.#lock.release()
    }
  }

  #decideRefusal(): void {
    this.#refusal = this.#held ?? this.#space?.low
  }

  #refuse(refusal: DatabaseError): Promise<never> {
    this.#refusals.add(refusal.message, 0)
    return Promise.reject(refusal)
  }

  /**
   * Changes the schema, which happens between the groups of `#writes`. A migration may sort or change a whole table: what
   * SQLite sets aside for it is in files.
   */
  async #change<Result>(work: () => Result): Promise<Result> {
    try {
      return await retryWhileBusy(() => {
        this.#assertOpen()
        if (this.#held !== undefined) throw this.#held
        const result = this.#withFiles(work)
        for (const connection of [this.#writer, this.#reader]) connection.schemaChanged()
        return result
      })
    } catch (error) {
      if (error instanceof BrokenStorageError) this.#break(error)
      if (isShortage(error) && error !== this.#space?.low) this.#refusals.add(error.message)
      throw error
    }
  }

  #withFiles<Result>(work: () => Result): Result {
    const { database } = this.#writer
    database.pragma('temp_store = FILE')
    try {
      return work()
    } finally {
      if (!database.inTransaction) database.pragma('temp_store = MEMORY')
    }
  }

  #read<Result>(work: () => Result): Result {
    this.#assertOpen()
    try {
      return work()
    } catch (error) {
      if (error instanceof BrokenStorageError) this.#break(error)
      if (error instanceof ShortageError) this.#refusals.add(error.message)
      throw error
    }
  }

  #assertOpen(): void {
    if (this.#ended !== undefined) throw this.#ended
  }

  #break(error: BrokenStorageError): void {
    if (this.#ended !== undefined) return
    this.#ended = error
    this.#writes.abort(error)
    this.#onFatal(error)
  }
}
