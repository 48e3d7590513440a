import { type Sql, sql } from '@mortise/module-sdk/sql'
import type { Transaction } from '@mortise/module-sdk/transaction'
import { BrokenStorageError } from '../port/errors.ts'
import { assertFewRows } from '../port/read-limit.ts'
import { driveAsync, generatorOf, type Outbox, StepReader } from '../port/steps.ts'
import { type Connection, driveOn, type PreparedStatement } from './connection.ts'
import { type ReadPlan, readPlan } from './read-plan.ts'
import { type ReadThread, ReadThreads } from './read-threads.ts'
import { FEW_ROWS, RowCounts, SMALL_FOR } from './row-counts.ts'

/** In a transaction the first read decides which state all show. */
const opening = sql`SELECT 1 FROM sqlite_schema LIMIT 1`

interface Judged {
  readonly plan: ReadPlan
  isLong: boolean
  until: number
}

/**
 * The reads of a database. A read of few rows runs at once, on a connection of the event loop; a
 * read of many rows, judged by its plan and the row counts, runs in a thread.
 */
export class Reads {
  readonly #connection: Connection
  readonly #threads: ReadThreads
  readonly #counts: RowCounts
  readonly #steps: StepReader
  #judged = new WeakMap<PreparedStatement, Judged>()
  /** While reads show the state before a COMMIT. */
  #held: PromiseWithResolvers<void> | undefined
  readonly #hold: PreparedStatement

  constructor(connection: Connection, outbox?: Outbox) {
    this.#connection = connection
    this.#steps = new StepReader(outbox)
    this.#hold = connection.prepare(opening)
    this.#threads = new ReadThreads(connection.database.name)
    this.#counts = new RowCounts(connection.database, async (query) => {
      const [row] = await this.#threads.with((thread) => thread.read<{ most: number }>(query, 'first'))
      return row
    })
  }

  many<Row>(query: Sql): Row[] | Promise<Row[]> {
    const prepared = this.#connection.prepare(query)
    if (this.#isLong(prepared, query)) return this.#inThread((thread) => thread.read<Row>(query, 'rows'))
    const rows = this.#connection.all<Row>(query, prepared)
    assertFewRows(rows.length, prepared.text)
    return rows
  }

  first<Row>(query: Sql): Row | undefined | Promise<Row | undefined> {
    const prepared = this.#connection.prepare(query)
    if (!this.#isLong(prepared, query)) return this.#connection.first<Row>(query, prepared)
    return this.#inThread(async (thread) => (await thread.read<Row>(query, 'first'))[0])
  }

  /**
   * Begins on the event loop's connection, and starts again in a thread if it turns out to be long.
   */
  snapshot<Result>(steps: () => Transaction<Result>): Result | Promise<Result> {
    const connection = this.#connection
    const held = this.#held
    let isLong = false
    if (held === undefined) connection.begin()
    try {
      return driveOn(
        {
          get inTransaction() {
            return connection.inTransaction && !isLong
          },
          execute: (statement) => {
            const { query } = statement
            isLong = this.#isLong(connection.prepare(query), query)
            if (isLong) throw new Error('it is read in a thread')
            return connection.execute(statement)
          },
        },
        steps,
        (step) => this.#steps.read(step),
      )
    } catch (error) {
      if (!isLong) throw error
    } finally {
      if (held === undefined && connection.inTransaction) connection.rollback()
    }
    return this.#inThread((thread) => this.#snapshotIn(thread, steps))
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
    this.#judged = new WeakMap()
    this.#counts.clear()
    this.#threads.schemaChanged()
  }

  /** Current reads in threads reject with `reason`. */
  close(reason: Error): Promise<void> {
    return this.#threads.close(reason)
  }

  /** What a thread has read may be newer than the open read. */
  async #inThread<Result>(work: (thread: ReadThread) => Promise<Result>): Promise<Result> {
    const result = await this.#threads.with(work)
    await this.#held?.promise
    return result
  }

  async #snapshotIn<Result>(thread: ReadThread, steps: () => Transaction<Result>): Promise<Result> {
    thread.report('begin')
    try {
      return await driveAsync(
        () => generatorOf(steps),
        (step) => {
          const { query } = this.#steps.read(step)
          this.#connection.prepare(query)
          return thread.read(query, 'rows')
        },
        (error) => error instanceof BrokenStorageError || thread.ended !== undefined,
      )
    } finally {
      thread.report('end')
    }
  }

  #isLong(prepared: PreparedStatement, { values }: Sql): boolean {
    const now = performance.now()
    const known = this.#judged.get(prepared)
    if (known !== undefined && known.until > now) return known.isLong
    const plan = known?.plan ?? readPlan(this.#connection.database, prepared.text, values.length)
    const isLong = plan((loop) => this.#counts.of(loop)) > FEW_ROWS
    // A read that was not measured yet is judged again soon.
    this.#judged.set(prepared, { plan, isLong, until: now + (isLong ? 1_000 : SMALL_FOR) })
    return isLong
  }
}
