import { closeSync, fdatasync, openSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Sql, type SqlValue } from '@mortise/module-sdk/sql'
import { DatabaseError, type Statement, type Step, type Transaction } from '@mortise/module-sdk/transaction'
import type SqliteDatabase from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { BrokenStorageError, isLocked, isShortage } from '../port/errors.ts'
import { drive, generatorOf, isEmpty, StepReader } from '../port/steps.ts'
import { toCommitError, toDatabaseError } from './database-error.ts'
import { compileRowReader, type RowReader } from './row-reader.ts'

const flush = promisify(fdatasync)

/** How long to wait for another process's lock (a backup, a shell), and how often to try. */
const LIMIT_MS = 5_000
const PAUSE_MS = 25

/**
 * One connection. Integers are bound as integers (the driver would bind a number as REAL, so that 7
 * / 2 would be 3.5) and returned as numbers; an integer that a number cannot hold exactly fails its
 * statement instead of being rounded. On a read-only connection a statement that writes fails as
 * `read-only`.
 */
export class Connection {
  readonly database: SqliteDatabase.Database
  readonly statements: StatementCache
  readonly #readonly: boolean
  readonly #begin: SqliteDatabase.Statement
  readonly #commit: SqliteDatabase.Statement
  readonly #rollback: SqliteDatabase.Statement
  readonly #savepoint: SqliteDatabase.Statement
  readonly #rollbackTo: SqliteDatabase.Statement
  readonly #release: SqliteDatabase.Statement
  /** The write-ahead log, to sync it. SQLite holds no lock on it that a close would drop. */
  #log: number | undefined
  readonly #isOff: boolean
  /** Statements of transactions that may have written, so far. */
  writes = 0

  constructor(database: SqliteDatabase.Database) {
    this.database = database
    this.statements = new StatementCache(database)
    this.#readonly = database.readonly
    this.#isOff = database.pragma('synchronous', { simple: true }) === 0
    this.#begin = database.prepare(database.readonly ? 'BEGIN' : 'BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#rollback = database.prepare('ROLLBACK')
    this.#savepoint = database.prepare('SAVEPOINT member')
    this.#rollbackTo = database.prepare('ROLLBACK TO member')
    this.#release = database.prepare('RELEASE member')
  }

  /** Call it after a schema change: statements are prepared again on the new schema. */
  schemaChanged(): void {
    this.statements.clear()
    // A connection notices another one's schema change when it runs a statement, not when it
    // prepares one.
    this.database.prepare('SELECT count(*) FROM sqlite_schema').get()
  }

  get inTransaction(): boolean {
    return this.database.inTransaction
  }

  all<Row>(query: Sql, prepared = this.prepare(query)): Row[] {
    try {
      return this.#all(prepared, query.values) as Row[]
    } catch (error) {
      throw toDatabaseError(error, prepared.text, this.database.name)
    }
  }

  /**
   * Returns rows one by one. The connection does nothing else until all are read or the iterator is
   * returned.
   */
  *each(query: Sql): Generator<unknown, void> {
    const prepared = this.prepare(query)
    const { statement, text } = prepared
    try {
      if (prepared.read === undefined) return
      for (const values of statement.iterate(integers(query.values)))
        yield readerFor(prepared, values as unknown[])(values as unknown[])
    } catch (error) {
      throw toDatabaseError(error, text, this.database.name)
    }
  }

  first<Row>(query: Sql, prepared = this.prepare(query)): Row | undefined {
    try {
      const { statement, read } = prepared
      if (read === undefined) return this.#all(prepared, query.values)[0] as undefined
      const values = statement.get(integers(query.values)) as unknown[] | undefined
      return values && (readerFor(prepared, values)(values) as Row)
    } catch (error) {
      throw toDatabaseError(error, prepared.text, this.database.name)
    }
  }

  /** The number of rows that a statement changed; 0 for a read. */
  changes(query: Sql, prepared = this.prepare(query)): number {
    try {
      return prepared.statement.run(integers(query.values)).changes
    } catch (error) {
      throw toDatabaseError(error, prepared.text, this.database.name)
    }
  }

  /** Runs one statement of a transaction. A statement without rows returns none. */
  execute({ query, want }: Statement): unknown {
    if (isEmpty(query)) return want === 'rows' ? [] : 0
    const prepared = this.prepare(query)
    if (!prepared.readonly) this.writes += 1
    return want === 'rows' ? this.all(query, prepared) : this.changes(query, prepared)
  }

  /** @throws {DatabaseError} `busy` if another process holds the write lock */
  begin(): void {
    control(this.#begin)
  }

  /**
   * @returns the error of a deferred constraint; the transaction is still open
   * @throws {DatabaseError} for a shortage; the transaction is still open
   * @throws {BrokenStorageError} `unknown-outcome`
   */
  commit(): DatabaseError | undefined {
    try {
      this.#commit.run()
      return undefined
    } catch (error) {
      const failure = toCommitError(error, this.database.name)
      if (failure instanceof BrokenStorageError || isShortage(failure)) throw failure
      return failure
    }
  }

  /**
   * Resolves when all commits survive a power failure, unless `synchronous` is OFF. The event loop
   * turns meanwhile.
   * @throws {BrokenStorageError} `unknown-outcome`
   */
  async sync(): Promise<void> {
    if (this.#isOff) return
    try {
      this.#log ??= openSync(`${this.database.name}-wal`, 'r+')
      await flush(this.#log)
    } catch (error) {
      throw toCommitError(error, this.database.name)
    }
  }

  close(): void {
    if (this.#log !== undefined) closeSync(this.#log)
    this.#log = undefined
    this.database.close()
  }

  rollback(): void {
    control(this.#rollback)
  }

  savepoint(): void {
    control(this.#savepoint)
  }

  /** Undoes everything since `savepoint()`, which stays. */
  rollbackToSavepoint(): void {
    control(this.#rollbackTo)
  }

  release(): void {
    control(this.#release)
  }

  /** @throws {DatabaseError} `read-only`, or for invalid SQL */
  prepare(query: Sql): PreparedStatement {
    const prepared = this.statements.get(query)
    if (this.#readonly && !prepared.readonly) {
      throw new DatabaseError(
        'read-only',
        `reads and snapshots may not write; use a transaction. The statement: ${prepared.text.trim()}`,
      )
    }
    return prepared
  }

  #all(prepared: PreparedStatement, values: readonly SqlValue[]): unknown[] {
    const { statement } = prepared
    if (prepared.read !== undefined) {
      const rows = statement.all(integers(values)) as unknown[][]
      return rows[0] === undefined ? rows : rows.map(readerFor(prepared, rows[0]))
    }
    statement.run(integers(values))
    return []
  }
}

function control(statement: SqliteDatabase.Statement): void {
  try {
    statement.run()
  } catch (error) {
    throw toDatabaseError(error, statement.source, statement.database.name)
  }
}

function integers(values: readonly SqlValue[]): SqlValue[] {
  return values.map((value) => (typeof value === 'number' ? BigInt(value) : value))
}

const withoutOutbox = new StepReader(undefined)

/**
 * Runs a generator to its end within a connection's transaction. The error of a step is thrown into
 * the generator, which may continue. If SQLite has ended the transaction, after a shortage (such as
 * disk space), or for a broken file the generator stays where it is, since its next statement would
 * commit by itself.
 */
export const driveOn = <Result>(
  connection: Pick<Connection, 'execute' | 'inTransaction'>,
  steps: () => Transaction<Result>,
  read: (step: Step) => Statement = (step) => withoutOutbox.read(step),
): Result =>
  drive(
    () => generatorOf(steps),
    (step) => connection.execute(read(step)),
    (error) => error instanceof BrokenStorageError || isShortage(error) || !connection.inTransaction,
  )

/**
 * Runs `work`, and repeats it while it fails as `busy`, with the event loop free in between. `work`
 * is synchronous, begins by taking the lock, and fails as `busy` for nothing else.
 *
 * @throws {DatabaseError} `busy` after `limit` milliseconds
 */
export async function retryWhileBusy<Result>(work: () => Result, limit = LIMIT_MS): Promise<Result> {
  const deadline = performance.now() + limit
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw error
    }
    await pause(PAUSE_MS)
  }
}

/**
 * Composed queries with a cached statement; the statement of a literal query lives as long as its
 * call site.
 */
export const COMPOSED_STATEMENTS = 500

/** A prepared statement, with properties for which the driver has only slow getters. */
export interface PreparedStatement {
  readonly statement: SqliteDatabase.Statement
  readonly text: string
  /** Makes its rows; undefined for a statement without rows. */
  read: RowReader | undefined
  /** The number of its columns. */
  width: number
  readonly readonly: boolean
}

/**
 * The maker of its rows. When others have changed the table, SQLite compiles the statement again, and
 * `*` has other columns.
 */
function readerFor(prepared: PreparedStatement, { length }: readonly unknown[]): RowReader {
  if (length !== prepared.width) Object.assign(prepared, columnsOf(prepared.statement, prepared.text))
  return prepared.read as RowReader
}

function columnsOf(statement: SqliteDatabase.Statement, text: string) {
  const columns = statement.columns().map(({ name }) => name)
  return { read: compileRowReader(columns, text), width: columns.length }
}

/**
 * The prepared statements of one connection. A literal query is found by the strings of its
 * template, without rendering it; a composed one by its text, with the least recently used dropped.
 */
export class StatementCache {
  readonly #database: SqliteDatabase.Database
  #bySite = new WeakMap<readonly string[], PreparedStatement>()
  readonly #byText = new LRUCache<string, PreparedStatement>({ max: COMPOSED_STATEMENTS })

  constructor(database: SqliteDatabase.Database) {
    this.#database = database
  }

  /** The number of cached composed queries. */
  get composed(): number {
    return this.#byText.size
  }

  /** Drops all: a schema change may change the meaning of queries. */
  clear(): void {
    this.#bySite = new WeakMap()
    this.#byText.clear()
  }

  /** @throws {DatabaseError} for invalid SQL */
  get(query: Sql): PreparedStatement {
    if (!(query instanceof Sql)) {
      throw new TypeError('this is not a query: write it with the sql`…` tag of @mortise/module-sdk')
    }
    const { strings } = query
    const known = this.#bySite.get(strings)
    if (known !== undefined) return known
    if ('raw' in strings) {
      const prepared = this.#prepare(strings)
      this.#bySite.set(strings, prepared)
      return prepared
    }
    const text = strings.join('?')
    let composed = this.#byText.get(text)
    if (composed === undefined) {
      composed = this.#prepare(strings)
      this.#byText.set(text, composed)
    }
    return composed
  }

  /**
   * A plus sign before a value keeps SQLite from choosing a plan by the value: it would plan a
   * statement with a join, an order or a limit again at each run, which costs more than the run.
   */
  #prepare(strings: readonly string[]): PreparedStatement {
    const text = strings.join('?')
    try {
      const statement = this.#database.prepare(strings.join('+?'))
      const { readonly } = statement
      if (!statement.reader) return { statement, text, read: undefined, width: 0, readonly }
      return { statement: statement.raw(), text, readonly, ...columnsOf(statement, text) }
    } catch (error) {
      throw toDatabaseError(error, text, this.#database.name)
    }
  }
}
