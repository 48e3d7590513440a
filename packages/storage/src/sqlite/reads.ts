import type { ReadOptions, SnapshotOptions } from '@mortise/module-sdk'
import { type Sql, sql } from '@mortise/module-sdk/sql'
import type { Step, Transaction } from '@mortise/module-sdk/transaction'
import { BrokenStorageError } from '../port/errors.ts'
import { assertFewRows } from '../port/read-limit.ts'
import { driveAsync, generatorOf, type Outbox, StepReader } from '../port/steps.ts'
import { within } from '../port/within.ts'
import { type Connection, driveOn, type PreparedStatement } from './connection.ts'
import { type ReadThread, ReadThreads } from './read-threads.ts'

/** From then on a read on the event loop is a slow one, in milliseconds. */
const SLOW = 100

/** In a transaction the first read decides which state all show. */
const opening = sql`SELECT 1 FROM sqlite_schema LIMIT 1`

/** Called once for each statement that is slow although its read was not declared as long. */
export type OnSlowRead = (statement: string, milliseconds: number) => void

/**
 * The reads of a database. A read that is declared as long runs in a thread; any other one at once,
 * on a connection of the event loop.
 */
export class Reads {
  readonly #connection: Connection
  readonly #threads: ReadThreads
  readonly #steps: StepReader
  readonly #onSlow: OnSlowRead | undefined
  readonly #slow = new WeakSet<PreparedStatement>()
  /** The connection, whose statements `#onLoop` times. */
  readonly #timed: Pick<Connection, 'execute' | 'inTransaction'>
  readonly #read = (step: Step) => this.#steps.read(step)
  /** While reads show the state before a COMMIT. */
  #held: PromiseWithResolvers<void> | undefined
  readonly #hold: PreparedStatement
  readonly #hasThreads: boolean

  constructor(connection: Connection, outbox?: Outbox, onSlow?: OnSlowRead, threads = true) {
    this.#hasThreads = threads
    this.#connection = connection
    this.#timed = {
      get inTransaction() {
        return connection.inTransaction
      },
      execute: (statement) => this.#onLoop(statement.query, () => connection.execute(statement)),
    }
    this.#steps = new StepReader(outbox)
    this.#onSlow = onSlow
    this.#hold = connection.prepare(opening)
    this.#threads = new ReadThreads(connection.database.name)
  }

  many<Row>(query: Sql, { long }: ReadOptions = {}): Row[] | Promise<Row[]> {
    if (long && this.#hasThreads) return this.#inThread((thread) => this.#readIn<Row>(thread, query, 'rows'))
    return this.#onLoop(query, (prepared) => {
      const rows = this.#connection.all<Row>(query, prepared)
      assertFewRows(rows.length, prepared.text)
      return rows
    })
  }

  first<Row>(query: Sql, { long }: ReadOptions = {}): Row | undefined | Promise<Row | undefined> {
    if (long && this.#hasThreads)
      return this.#inThread(async (thread) => (await this.#readIn<Row>(thread, query, 'first'))[0])
    return this.#onLoop(query, (prepared) => this.#connection.first<Row>(query, prepared))
  }

  snapshot<Result>(
    steps: () => Transaction<Result>,
    { long, within: limit }: SnapshotOptions = {},
  ): Result | Promise<Result> {
    const limited = within(steps, limit)
    if (long && this.#hasThreads) return this.#inThread((thread) => this.#snapshotIn(thread, limited), limit)
    const connection = this.#connection
    const held = this.#held
    if (held === undefined) connection.begin()
    try {
      return driveOn(this.#timed, limited, this.#read)
    } finally {
      if (held === undefined && connection.inTransaction) connection.rollback()
    }
  }

  /**
   * Until `release`, reads show the present state: a COMMIT that follows may not survive a power
   * failure yet, and what a caller has seen may not be lost.
   */
  hold(): void {
    this.#connection.begin()
    this.#connection.first(opening, this.#hold)
    this.#held = Promise.withResolvers()
  }

  release(): void {
    if (this.#connection.inTransaction) this.#connection.rollback()
    this.#held?.resolve()
    this.#held = undefined
  }

  /** Call it after a schema change. */
  schemaChanged(): void {
    this.#connection.schemaChanged()
    this.#threads.schemaChanged()
  }

  /** Current reads in threads reject with `reason`. */
  close(reason: Error): Promise<void> {
    return this.#threads.close(reason)
  }

  /** What a thread has read may be newer than the open read. */
  async #inThread<Result>(work: (thread: ReadThread) => Promise<Result>, limit?: number): Promise<Result> {
    const result = await this.#threads.with(work, limit)
    await this.#held?.promise
    return result
  }

  #readIn<Row>(thread: ReadThread, query: Sql, want: 'rows' | 'first'): Promise<Row[]> {
    this.#connection.prepare(query)
    return thread.read<Row>(query, want)
  }

  async #snapshotIn<Result>(thread: ReadThread, steps: () => Transaction<Result>): Promise<Result> {
    thread.report('begin')
    try {
      return await driveAsync(
        () => generatorOf(steps),
        async (step) => this.#readIn(thread, this.#steps.read(step).query, 'rows'),
        (error) => error instanceof BrokenStorageError || thread.ended !== undefined,
      )
    } finally {
      thread.report('end')
    }
  }

  #onLoop<Result>(query: Sql, read: (prepared: PreparedStatement) => Result): Result {
    const prepared = this.#connection.prepare(query)
    const begun = performance.now()
    const result = read(prepared)
    const took = performance.now() - begun
    if (took > SLOW && !this.#slow.has(prepared)) {
      this.#slow.add(prepared)
      this.#onSlow?.(prepared.text, took)
    }
    return result
  }
}
