import type { TSchema } from '@sinclair/typebox'
import type { Sql } from './sql.ts'

/** What a transaction asks its engine to do: run one statement and hand back its rows, or write an event. */
export type Step = Statement | Emission

export interface Statement {
  readonly query: Sql
  /** `rows` for a statement that answers rows, RETURNING included; `changes` for how many it touched. */
  readonly want: 'rows' | 'changes'
}

/** An event on its way into the database: a step of a transaction that the host carries out. */
export interface Emission {
  readonly event: {
    readonly id: string
    readonly type: string
    readonly source: string
    readonly subject: string
    readonly owner: string | null
    readonly data: unknown
    /** What `data` must be. */
    readonly schema: TSchema
    readonly traceparent?: string
  }
}

/**
 * A part of a transaction: a generator whose only side effects are the statements that it yields. The
 * engine may run it again from the start (a serialization conflict), so it touches nothing else.
 * `await` inside is a syntax error, so nobody can hold the write lock while waiting for something else.
 */
// biome-ignore lint/suspicious/noExplicitAny: an engine answers each step in that step's own shape
export type Transaction<Result> = Generator<Step, Result, any>

/** All rows of a query. */
export function* many<Row>(query: Sql): Transaction<Row[]> {
  return yield { query, want: 'rows' }
}

/** The first row of a query, or undefined where it has none. */
export function* maybeOne<Row>(query: Sql): Transaction<Row | undefined> {
  const rows: Row[] = yield { query, want: 'rows' }
  return rows[0]
}

/** The row of a query that always has one. @throws {DatabaseError} `no-row` */
export function* one<Row>(query: Sql): Transaction<Row> {
  return firstOf(yield* many<Row>(query))
}

/** Runs a statement; answers how many rows it changed. */
export function* run(query: Sql): Transaction<number> {
  return yield { query, want: 'changes' }
}

/** The database as modules see it, whatever the engine. */
export interface Database {
  /** One read, at once. */
  many<Row>(query: Sql): Promise<Row[]>
  maybeOne<Row>(query: Sql): Promise<Row | undefined>
  /** @throws {DatabaseError} `no-row` */
  one<Row>(query: Sql): Promise<Row>
  /** Several reads that show one moment. @throws {DatabaseError} `read-only` for a write */
  snapshot<Result>(steps: () => Transaction<Result>): Promise<Result>
  /**
   * All or nothing. Resolves after the commit is durable. What `steps` throws undoes the transaction and
   * rejects. Inside a request use `request.transaction`, which decides the answer in the same transaction.
   */
  transaction<Result>(steps: () => Transaction<Result>): Promise<Result>
}

export type DatabaseErrorKind =
  | 'unique' // a UNIQUE or PRIMARY KEY constraint
  | 'foreign-key'
  | 'check'
  | 'not-null'
  | 'no-row' // one() found nothing
  | 'busy' // locked, or a conflict that outlasted its retries: try again later
  | 'read-only' // a write inside a snapshot
  | 'refused' // a statement that modules may not run, such as COMMIT
  | 'full' // there is no room to write: nothing was changed, reads go on
  | 'held' // the data are being moved to another database, and nothing is written meanwhile
  | 'unavailable' // the database cannot be reached: nothing was changed
  | 'unknown-outcome' // the connection broke at COMMIT: it may have happened, or not
  | 'other'

/** A statement that failed, in the words of no particular engine. The engine's own error is the `cause`. */
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
