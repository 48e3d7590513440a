import { DatabaseError, type Sql, type SqlValue, type Statement } from '@mortise/module-sdk'
import type SqliteDatabase from 'better-sqlite3'
import { BrokenStorageError, isShortage } from '../port/errors.ts'
import { toCommitError, toDatabaseError } from './database-error.ts'
import { type PreparedStatement, StatementCache } from './statement-cache.ts'

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

  constructor(database: SqliteDatabase.Database) {
    this.database = database
    this.statements = new StatementCache(database)
    this.#readonly = database.readonly
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
    const { statement, read, text } = this.prepare(query)
    try {
      if (read === undefined) return
      for (const values of statement.iterate(integers(query.values))) yield read(values as unknown[])
    } catch (error) {
      throw toDatabaseError(error, text, this.database.name)
    }
  }

  first<Row>(query: Sql, prepared = this.prepare(query)): Row | undefined {
    try {
      const { statement, read } = prepared
      if (read === undefined) return this.#all(prepared, query.values)[0] as undefined
      const values = statement.get(integers(query.values)) as unknown[] | undefined
      return values && (read(values) as Row)
    } catch (error) {
      throw toDatabaseError(error, prepared.text, this.database.name)
    }
  }

  /** The number of rows that a statement changed; 0 for a read. */
  changes(query: Sql): number {
    const prepared = this.prepare(query)
    try {
      return prepared.statement.run(integers(query.values)).changes
    } catch (error) {
      throw toDatabaseError(error, prepared.text, this.database.name)
    }
  }

  /** Runs one statement of a transaction. A statement without rows returns none. */
  execute({ query, want }: Statement): unknown {
    return want === 'changes' ? this.changes(query) : this.all(query)
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

  /** @throws {DatabaseError} `refused`, `read-only`, or for invalid SQL */
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

  #all({ statement, read }: PreparedStatement, values: readonly SqlValue[]): unknown[] {
    if (read !== undefined) return (statement.all(integers(values)) as unknown[][]).map(read)
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
