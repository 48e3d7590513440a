import type { TSchema } from '@sinclair/typebox'
import type { Sql } from './sql.ts'

/** A request to the engine: run one statement and return its result, or write an event. */
export type Step = Statement | Emission

export interface Statement {
  readonly query: Sql
  /**
   * `rows` for a statement that returns rows, also with RETURNING; `changes` for the number of rows
   * it changed.
   */
  readonly want: 'rows' | 'changes'
}

/** An event to write: a step of a transaction that the host carries out. */
export interface Emission {
  readonly event: {
    readonly id: string
    readonly type: string
    readonly source: string
    readonly subject: string
    readonly owner: string | null
    readonly data: unknown
    /** The schema of `data`. */
    readonly schema: TSchema
    readonly traceparent?: string
  }
}

/**
 * A part of a transaction: a generator whose only side effects are the statements that it yields.
 * After a serialization conflict the engine runs it again from the start, so it must touch nothing
 * else. `await` inside is a syntax error, so code cannot hold the write lock while it waits.
 */
// biome-ignore lint/suspicious/noExplicitAny: an engine answers each step in that step's own shape
export type Transaction<Result> = Generator<Step, Result, any>

/** All rows of a query. */
export function* many<Row>(query: Sql): Transaction<Row[]> {
  return yield { query, want: 'rows' }
}

/** The first row of a query, or undefined if it has none. */
export function* maybeOne<Row>(query: Sql): Transaction<Row | undefined> {
  const rows: Row[] = yield { query, want: 'rows' }
  return rows[0]
}

/**
 * The row of a query that always has one.
 * @throws {DatabaseError} `no-row`
 */
export function* one<Row>(query: Sql): Transaction<Row> {
  return firstOf(yield* many<Row>(query))
}

/** Runs a statement and returns the number of rows it changed. */
export function* run(query: Sql): Transaction<number> {
  return yield { query, want: 'changes' }
}

/** The database for modules, independent of the engine. */
export interface Database {
  /** One read, outside a transaction. */
  many<Row>(query: Sql): Promise<Row[]>
  maybeOne<Row>(query: Sql): Promise<Row | undefined>
  /** @throws {DatabaseError} `no-row` */
  one<Row>(query: Sql): Promise<Row>
  /**
   * Several reads of the same moment.
   * @throws {DatabaseError} `read-only` for a write
   */
  snapshot<Result>(steps: () => Transaction<Result>): Promise<Result>
  /**
   * All or nothing. Resolves when the commit is durable. An error from `steps` rolls the
   * transaction back and rejects. Inside a request use `request.transaction`, which decides the
   * response in the same transaction.
   */
  transaction<Result>(steps: () => Transaction<Result>): Promise<Result>
}

export type DatabaseErrorKind =
  | 'unique' // a UNIQUE or PRIMARY KEY constraint
  | 'foreign-key'
  | 'check'
  | 'not-null'
  | 'no-row' // one() found nothing
  | 'busy' // locked, or a conflict after all retries: try again later
  | 'read-only' // a write inside a snapshot
  | 'refused' // a statement that modules must not run, such as COMMIT
  | 'full' // no space to write: nothing was changed, reads continue
  | 'held' // a data move to another database is in progress, and pauses writes
  | 'unavailable' // the database cannot be reached: nothing was changed
  | 'unknown-outcome' // the connection broke at COMMIT: the outcome is unknown
  | 'other'

/**
 * A failed statement, with a `kind` that is the same for all engines. The `cause` is the engine's
 * own error.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  readonly kind: DatabaseErrorKind

  constructor(kind: DatabaseErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** @throws {DatabaseError} `no-row` */
export function firstOf<Row>(rows: readonly Row[]): Row {
  if (rows.length === 0) throw new DatabaseError('no-row', 'the query found no row')
  return rows[0] as Row
}
