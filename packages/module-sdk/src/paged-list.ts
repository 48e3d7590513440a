import { invalidRequest } from './common-problems.ts'
import {
  conditionOf,
  countOf,
  type OrderedRows,
  type Part,
  positionsOf,
  type RowValues,
  type Window,
} from './ordered-rows.ts'
import type { CursorPage, Page } from './request.ts'
import { Shapes } from './shapes.ts'
import { identifier, join, type Sql, type SqlValue, sql } from './sql.ts'
import { many, maybeOne, one, type Transaction } from './transaction.ts'

/** Rows that one statement tries a filter on: some milliseconds. */
const TRIED = 1_000

/** Pages end here, and a total is exact up to here: further rows are read with `after`. */
export const MOST_PAGED = 10_000

/** What a list shows, and in which order. */
export interface PagedListOptions {
  /** The columns to select. A list that walks or accepts `after` needs `id` among them. */
  readonly columns: Sql
  /**
   * The column that orders the rows. Its values are unique and never change. The default is `id`:
   * ids of `newId` sort by creation time.
   */
  readonly position?: string
  /** Whether the smallest position comes first. The default is the largest: newest first. */
  readonly ascending?: boolean
  /** The condition of every row on the list. A row that leaves the list keeps its position. */
  readonly where?: Sql
  /** Whether the query has `until`: see `walkQuery`. */
  readonly walks?: boolean
  /** The prefix of the ids, which is also the noun in messages. The default is the table's name. */
  readonly idPrefix?: string
}

/** The rows that a request asks for. */
export interface ListedRows {
  /**
   * The rows by the values of columns: `{ owner: caller.id, status: ['open', 'paid'] }`. An index on
   * these columns, then the position, serves any of their lists. The default is all rows.
   */
  readonly where?: RowValues | undefined
  /**
   * A further condition. It is tried on one row of `where` after the other, as many as it takes, in
   * short statements: read it with `{ long: true, within: 2_000 }`.
   */
  readonly filter?: Sql | undefined
  /** The rows whose ids are valid as `after` and `until`. The default is `where`. */
  readonly known?: RowValues | undefined
}

/** The query of the route: the values of `pageQuery`, `walkQuery` and `cursorQuery`. */
export interface ListQuery {
  readonly page: number
  readonly rpp: number
  readonly until?: string | undefined
  readonly after?: string | undefined
}

/**
 * A paged list of the rows of one table, for `reply.paged`. Declare it once, and read it in a
 * snapshot:
 *
 *     const notes = new PagedList<NoteRow>('note', { columns: sql`id, text` })
 *     const rows = { where: { owner: caller.id } }
 *     reply.paged(await database.snapshot(() => notes.page(query, rows, toNote)))
 *
 * Its index is that on the columns of `where` and then the position, here
 * `CREATE INDEX note_of_owner ON note (owner, id)`, with the `where` of the options if there is one.
 * Then a page takes no more time with ten million rows than with ten thousand, and the rows after a
 * cursor take the same time anywhere.
 */
export class PagedList<Row> {
  readonly #table: Sql
  readonly #position: Sql
  readonly #options: PagedListOptions
  readonly #shapes = new Shapes()

  constructor(table: string, options: PagedListOptions) {
    this.#table = identifier(table)
    this.#position = identifier(options.position ?? 'id')
    this.#options = { idPrefix: table, ...options }
  }

  /**
   * One page, with the total: exact up to `MOST_PAGED`.
   * @throws {Problem} `invalid-request` for an `until` that is no id of `known`, and for a page that
   * begins beyond row `MOST_PAGED`
   */
  *page<Item>(query: ListQuery, listed: ListedRows, toItem: (row: Row) => Item): Transaction<Page<Item>> {
    const { page, rpp } = query
    const skipped = (page - 1) * rpp
    if (skipped >= MOST_PAGED) throw tooFar(rpp)
    const until = query.until === undefined ? undefined : yield* this.#find('until', query.until, listed)
    const { total, found } = yield* listed.filter
      ? this.#pageOf(yield* this.#passing(listed, { until }, listed.filter, MOST_PAGED + 1), rpp, skipped)
      : this.#pageAt(listed, { until }, rpp, skipped)
    const walk = this.#options.walks && {
      until: query.until ?? (skipped === 0 && !listed.filter ? idOf(found[0]) : yield* this.#first(listed)),
    }
    const counted = { total: Math.min(total, MOST_PAGED), totalIsExact: total <= MOST_PAGED }
    return { data: found.map(toItem), page, rpp, ...counted, ...walk }
  }

  /**
   * The rows after the row with the id `query.after`, even if that row has changed or gone. Without
   * `after` a page.
   * @throws {Problem} `invalid-request` for an `after` or `until` that is no id of `known`
   */
  *read<Item extends { readonly id: string }>(
    query: ListQuery,
    listed: ListedRows,
    toItem: (row: Row) => Item,
  ): Transaction<Page<Item> | CursorPage<Item>> {
    if (query.after === undefined) return yield* this.page(query, listed, toItem)
    const { rpp } = query
    const after = yield* this.#find('after', query.after, listed)
    const found = yield* listed.filter
      ? this.#rowsIn(yield* this.#passing(listed, { after }, listed.filter, rpp + 1))
      : many<Row>(this.#listed(listed, { after }, rpp + 1))
    return { data: found.slice(0, rpp).map(toItem), rpp, more: found.length > rpp }
  }

  *#pageAt(listed: ListedRows, part: Part, limit: number, offset: number) {
    const count = this.#query('count', listed, part, [MOST_PAGED + 1], (rows, part, [most]) =>
      countOf(rows, part, most),
    )
    const { total } = yield* one<{ total: number }>(count)
    return { total, found: yield* many<Row>(this.#listed(listed, part, limit, offset)) }
  }

  *#pageOf(positions: readonly SqlValue[], limit: number, offset: number) {
    return { total: positions.length, found: yield* this.#rowsIn(positions.slice(offset, offset + limit)) }
  }

  /** The positions of up to `most` rows of a part that pass the filter, in order. */
  *#passing(listed: ListedRows, part: Part, filter: Sql, most: number): Transaction<SqlValue[]> {
    const passing: SqlValue[] = []
    for (let { after } = part; ; ) {
      const tried = { ...part, after }
      const [last] = yield* many<{ position: SqlValue }>(this.#positions(listed, tried, 1, TRIED - 1))
      const found = yield* many<{ position: SqlValue }>(sql`
        SELECT ${this.#position} AS position FROM ${this.#table}
        WHERE ${this.#position} IN (SELECT position FROM (${this.#positions(listed, tried, TRIED)}) AS tried) AND (${filter})
        ORDER BY ${this.#position} ${this.#direction} LIMIT ${most - passing.length}`)
      passing.push(...found.map(({ position }) => position))
      if (!last || passing.length === most) return passing
      after = last.position
    }
  }

  #positions(listed: ListedRows, part: Part, limit: number, offset = 0): Sql {
    return this.#query('positions', listed, part, windowOf(limit, offset), positionsOf)
  }

  /** The rows of a part, in order. */
  #listed(listed: ListedRows, part: Part, limit: number, offset = 0): Sql {
    return this.#query('rows', listed, part, windowOf(limit, offset), (rows, part, window) =>
      this.#rowsAt(sql`SELECT position FROM (${positionsOf(rows, part, window)}) AS listed`),
    )
  }

  /** A statement about a part of the rows, which is composed once for each number of values. */
  #query<Numbers extends readonly [number, ...number[]]>(
    kind: string,
    { where = {} }: ListedRows,
    part: Part,
    numbers: Numbers,
    compose: (rows: OrderedRows, part: Part, numbers: { [K in keyof Numbers]: SqlValue }) => Sql,
  ): Sql {
    const { ascending = false, where: condition = sql`TRUE` } = this.#options
    const columns = Object.entries(where)
    const bounds = Object.entries(part).filter(([, value]) => value !== undefined)
    const shape = [
      kind,
      bounds.map(([name]) => name),
      columns.map(([name, value]) => [name, [value].flat().length]),
    ]
    const values = [
      ...columns.map(([, value]) => value),
      ...bounds.map(([, value]) => value as SqlValue),
      ...numbers,
    ]
    return this.#shapes.query(JSON.stringify(shape), values.flat(), (given) => {
      const next = given.values()
      const take = () => next.next().value as Exclude<SqlValue, null>
      const rows = { table: this.#table, position: this.#position, ascending, condition }
      const taken = columns.map(([name, value]) => [name, [value].flat().map(take)])
      return compose(
        { ...rows, where: Object.fromEntries(taken) },
        Object.fromEntries(bounds.map(([name]) => [name, take()])),
        numbers.map(take) as never,
      )
    })
  }

  get #direction(): Sql {
    return this.#options.ascending ? sql`ASC` : sql`DESC`
  }

  *#rowsIn(positions: readonly SqlValue[]): Transaction<Row[]> {
    if (positions.length === 0) return []
    return yield* many<Row>(this.#rowsAt(join(positions.map((one) => sql`${one}`))))
  }

  /** @param positions values, or a SELECT of them */
  #rowsAt(positions: Sql): Sql {
    return sql`
      SELECT ${this.#options.columns} FROM ${this.#table}
      WHERE ${this.#position} IN (${positions})
      ORDER BY ${this.#position} ${this.#direction}`
  }

  /** The id of the first row of `where`, or '' without any. */
  *#first({ where }: ListedRows): Transaction<string> {
    const first = this.#query(
      'first',
      { where },
      {},
      windowOf(1),
      (rows, part, window) =>
        sql`SELECT id FROM ${this.#table}
        WHERE ${this.#position} IN (SELECT position FROM (${positionsOf(rows, part, window)}) AS listed)`,
    )
    return idOf(yield* maybeOne(first))
  }

  /**
   * The position of the row with an id that the client sent. An id is the cursor, because a number
   * would reveal how many rows other callers have. An id without access behaves like an unknown one.
   */
  *#find(
    parameter: 'until' | 'after',
    id: string,
    { where = {}, known = where }: ListedRows,
  ): Transaction<SqlValue> {
    const { idPrefix, position } = this.#options
    if (position === undefined) {
      // The id is the position, so the row may be gone from the table.
      if (new RegExp(`^${idPrefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`).test(id)) return id
    } else {
      const found = yield* maybeOne<{ position: SqlValue }>(sql`
        SELECT ${this.#position} AS position FROM ${this.#table} WHERE id = ${id} AND ${conditionOf(known)}`)
      if (found) return found.position
    }
    const what =
      parameter === 'until' ? 'from a link of this list' : `the id of a ${idPrefix} that this list had`
    throw invalidRequest({ parameter, detail: `must be ${what}: leave it out to begin a new walk` })
  }
}

const idOf = (row: unknown): string => (row as { id: string } | undefined)?.id ?? ''

const windowOf = (limit: number, offset = 0): Window<number> => [limit, offset, limit + offset]

const tooFar = (rpp: number) =>
  invalidRequest({
    parameter: 'page',
    detail: `must be ${Math.ceil(MOST_PAGED / rpp)} or less: pages end at row ${MOST_PAGED}. Read on with \`after\` and the last id, without \`page\``,
  })
