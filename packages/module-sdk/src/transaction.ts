import type { Static, TSchema } from '@sinclair/typebox'
import { newId } from './forms.ts'
import type { Sql } from './sql.ts'
import { noteBegun, noteMade } from './unrun-steps.ts'

/** A request to the engine: run one statement and return its result, or write an event. */
export type Step = Statement | Emission

/** One SQL statement of a transaction. */
export interface Statement {
  readonly query: Sql
  /**
   * `rows` for a statement that returns rows, also with RETURNING; `changes` for the number of rows
   * it changed; `nothing` if nobody reads the result.
   */
  readonly want: 'rows' | 'changes' | 'nothing'
  /**
   * The usual result. The transaction may go on with it before the statement has run. If the
   * statement then returns another one, or fails, the transaction runs again from its start.
   */
  readonly expected?: unknown
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

/** The kinds of steps. */
export const isStatement = (step: Step): step is Statement => isObject(step) && 'query' in step
export const isEmission = (step: Step): step is Emission => isObject(step) && 'event' in step

/** A transaction may yield anything by mistake. */
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * The error for what a transaction yielded by mistake. For the code after all kinds of steps: it
 * does not compile while one is missing.
 */
export const notAStep = (step: never) =>
  new TypeError(`a transaction yielded ${describe(step)} instead of a step: write yield* run(sql\`…\`)`)

const describe = (value: unknown) => (isObject(value) ? 'an object' : String(value))

/**
 * A part of a transaction: a generator whose only side effects are the statements that it yields.
 * After a serialization conflict the engine runs it again from the start, so it must touch nothing
 * else. `await` inside is a syntax error, so code cannot hold the write lock while it waits.
 */
export type Transaction<Result> = Generator<Step, Result, unknown>

/** The same step, noted as made. */
function made<Result>(about: unknown, step: Transaction<Result>): Transaction<Result> {
  noteMade(about)
  return step
}

function* stepOf(query: Sql, want: Statement['want'], expected?: unknown): Transaction<unknown> {
  noteBegun(query)
  return yield { query, want, expected }
}

/** All rows of a query. */
export const many = <Row>(query: Sql) => made(query, stepOf(query, 'rows') as Transaction<Row[]>)

/** The first row of a query, or undefined if it has none. */
export const maybeOne = <Row>(query: Sql): Transaction<Row | undefined> => made(query, maybeRowOf<Row>(query))

function* maybeRowOf<Row>(query: Sql): Transaction<Row | undefined> {
  noteBegun(query)
  return ((yield { query, want: 'rows' }) as Row[])[0]
}

/**
 * The row of a query that always has one.
 * @throws {DatabaseError} `no-row`
 */
export const one = <Row>(query: Sql): Transaction<Row> => made(query, rowOf<Row>(query))

function* rowOf<Row>(query: Sql): Transaction<Row> {
  noteBegun(query)
  return firstOf((yield { query, want: 'rows' }) as Row[])
}

/**
 * Runs a statement and returns the number of rows it changed.
 * @param expected the number that it nearly always returns: PostgreSQL gets it together with the
 * next statement, which saves a round trip. Another number runs the transaction again.
 */
export const run = (query: Sql, expected?: number) =>
  made(query, stepOf(query, 'changes', expected) as Transaction<number>)

/**
 * Runs a statement whose result nobody reads. On PostgreSQL it is sent together with the next one,
 * which saves a round trip; an error is thrown here nevertheless.
 */
export const send = (query: Sql) => made(query, stepOf(query, 'nothing') as Transaction<void>)

/**
 * The event types that modules share: type to data. The package that emits a type adds it by
 * declaration merging, as with Contracts. The data of any other type is `unknown`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface EventTypes {}

/** The data of an event type; unknown for a type that no package adds to `EventTypes`. */
export type EventData<Type extends string> = Type extends keyof EventTypes ? EventTypes[Type] : unknown

/** The part of an event that the module sets. The host adds the rest. */
export interface NewEvent<Data> {
  /** The id of the thing that changed. */
  readonly subject: string
  /** The caller id that owns the event and may see it. Without it only `admin` may. */
  readonly owner?: string | null
  readonly data: Data
}

/** The schema of the data, by event type. */
export type EventSchemas = Readonly<Record<string, TSchema>>

/** The shared data type of an event limits its schema. */
export type KnownEvents<Types extends EventSchemas> = {
  readonly [Type in keyof Types]: Type extends keyof EventTypes
    ? EventTypes[Type] extends Static<Types[Type]>
      ? Types[Type]
      : never
    : Types[Type]
}

/**
 * A step of a transaction: the event is written if and only if the transaction commits.
 * @throws {TypeError} if `data` does not match the schema of the type, or exceeds 256 KiB of JSON
 */
export type Emit<Types extends EventSchemas> = <Type extends keyof Types & string>(
  type: Type,
  event: NewEvent<Static<Types[Type]>>,
) => Transaction<void>

/** Returns the function that emits the events of the module `source`. */
export function defineEvents<Types extends EventSchemas>(source: string, types: Types): Emit<Types> {
  return (type, event) => made(type, emission(type, event))

  function* emission<Type extends keyof Types & string>(
    type: Type,
    { subject, owner = null, data }: NewEvent<Static<Types[Type]>>,
  ): Transaction<void> {
    noteBegun(type)
    const schema = types[type]
    if (schema === undefined) throw new TypeError(`"${type}" is not an event of ${source}`)
    yield { event: { id: newId('event'), type, source, subject, owner, data, schema } }
  }
}

/** `Symbol.for`, because a host can load several copies of the SDK. */
const kRouteResponse = Symbol.for('mortise.response')

/** The response to a request, decided inside its transaction: see `request.transaction`. */
export interface RouteResponse<Status = number, Body = unknown> {
  readonly status: Status
  readonly body: Body
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Responds with `status` and `body`. The route's response schema for that status serializes the
 * body.
 * @param headers lower-case names; write a `location` as a path of the module
 * (`/cart/item/item_…`): the host adds the base path
 */
export function respond<Status extends number, Body>(
  status: Status,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
): RouteResponse<Status, Body> {
  return Object.assign({ status, body, headers }, { [kRouteResponse]: true })
}

/** Whether `respond` made this value, in any copy of the SDK. */
export const isRouteResponse = (value: unknown): value is RouteResponse =>
  typeof value === 'object' && value !== null && kRouteResponse in value

/** How a read runs. */
export interface ReadOptions {
  /**
   * It may go through many rows, so that it takes more than some milliseconds. On SQLite it runs in
   * a thread beside the event loop, where it costs more than a short read does. Every other read
   * runs on the event loop, and all callers wait for it. On PostgreSQL a few long snapshots run at
   * once, and the others wait for their turn.
   */
  readonly long?: boolean
}

/** How several reads of one moment run. */
export interface SnapshotOptions extends ReadOptions {
  /**
   * After so many milliseconds, the wait for a thread included, it ends with the DatabaseError
   * `too-long`: the response is 503. That happens between two statements, so let each one read a
   * bounded number of rows.
   */
  readonly within?: number
}

/** The database for modules, independent of the engine. */
export interface Database {
  /**
   * One read, outside a transaction.
   * @throws {DatabaseError} `refused` for more than 100,000 rows
   */
  many<Row>(query: Sql, options?: ReadOptions): Promise<Row[]>
  maybeOne<Row>(query: Sql, options?: ReadOptions): Promise<Row | undefined>
  /** @throws {DatabaseError} `no-row` */
  one<Row>(query: Sql, options?: ReadOptions): Promise<Row>
  /**
   * Several reads of the same moment.
   * @throws {DatabaseError} `read-only` for a write
   */
  snapshot<Result>(steps: () => Transaction<Result>, options?: SnapshotOptions): Promise<Result>
  /**
   * All or nothing. Resolves when the commit is durable. An error from `steps` rolls the
   * transaction back and rejects. Inside a request use `request.transaction`, which decides the
   * response in the same transaction.
   */
  transaction<Result>(steps: () => Transaction<Result>): Promise<Result>
}

/** Why a statement or a transaction failed. */
export type DatabaseErrorKind =
  | 'unique' // a UNIQUE or PRIMARY KEY constraint
  | 'foreign-key'
  | 'check'
  | 'not-null'
  | 'no-row' // one() found nothing
  | 'busy' // locked, or a conflict after all retries: try again later
  | 'read-only' // a write inside a snapshot
  | 'too-long' // a snapshot took longer than its `within`
  | 'refused' // a statement that modules must not run, such as COMMIT
  | 'full' // no space to write: nothing was changed, reads continue
  | 'held' // the data move to another database, and writes are refused meanwhile
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
  /** The seconds after which to try again, if known. */
  readonly retryAfter: number | undefined

  constructor(
    kind: DatabaseErrorKind,
    message: string,
    { retryAfter, ...options }: ErrorOptions & { readonly retryAfter?: number | undefined } = {},
  ) {
    super(message, options)
    this.kind = kind
    this.retryAfter = retryAfter
  }
}

const passing = new Set<DatabaseErrorKind>(['full', 'held', 'unavailable'])

/** Whether the host logs the error itself: everything gets this one until the cause ends. */
export const isLoggedElsewhere = (error: unknown): boolean =>
  error instanceof DatabaseError && passing.has(error.kind)

/**
 * The first of the rows.
 * @throws {DatabaseError} `no-row`
 */
export function firstOf<Row>(rows: readonly Row[]): Row {
  if (rows.length === 0) throw new DatabaseError('no-row', 'the query found no row')
  return rows[0] as Row
}
