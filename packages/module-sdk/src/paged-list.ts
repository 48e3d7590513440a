import { invalidRequest } from './common-problems.ts'
import type { RankedList } from './ranked-list.ts'
import type { CursorPage, Page } from './request.ts'
import { byEngine, identifier, join, type Sql, type SqlValue, sql } from './sql.ts'
import { many, maybeOne, one, type Transaction } from './transaction.ts'

/** Pages end here, and a total is exact up to here: further rows are read with `after`. */
export const MOST_PAGED = 10_000

/** What a list shows, and in which order. */
export interface PagedListOptions {
  /** The columns to select. A list that accepts `after` needs `id` among them. */
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
  /** Serves the rows of `lists`, for a list that grows without end. Its position is `seq`. */
  readonly ranked?: RankedList
}

/** The rows that a request asks for. */
export interface ListedRows {
  /** The rows that the caller may see: ``sql`owner = ${caller.id}` ``. The default is all rows. */
  readonly where?: Sql | undefined
  /** The rows of `where` that the caller filters by. */
  readonly filter?: Sql | undefined
  /** The rows whose ids are valid as `after` and `until`. The default is `where`. */
  readonly known?: Sql | undefined
  /** Reads these lists of `ranked`, instead of `where` and `filter`. */
  readonly lists?: readonly string[] | undefined
  /** Only the rows of this group of `ranked`. */
  readonly group?: string | undefined
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
 *     const rows = { where: sql`owner = ${caller.id}` }
 *     reply.paged(await database.snapshot(() => notes.page(query, rows, toNote)))
 *
 * A page counts the rows of `where` and skips those before it, which is fast for some hundred rows if
 * an index has the columns of `where` and then the position. For more rows, of all callers or of one,
 * use `ranked`.
 */
export class PagedList<Row> {
  readonly #table: Sql
  readonly #position: Sql
  readonly #options: PagedListOptions

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
  *page<Item>(query: ListQuery, rows: ListedRows, toItem: (row: Row) => Item): Transaction<Page<Item>> {
    const { page, rpp } = query
    if ((page - 1) * rpp >= MOST_PAGED) throw tooFar(rpp)
    const sent = query.until === undefined ? undefined : yield* this.#find('until', query.until, rows)
    const { rows: found, total, until } = yield* this.#pageOf(query, rows, sent)
    const walk = this.#options.walks && { until: query.until ?? (yield* this.#idAt(until)) }
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
    rows: ListedRows,
    toItem: (row: Row) => Item,
  ): Transaction<Page<Item> | CursorPage<Item>> {
    const { after, rpp } = query
    if (after === undefined) return yield* this.page(query, rows, toItem)
    const position = yield* this.#find('after', after, rows)
    const found = yield* this.#following(position, rpp + 1, rows)
    return { data: found.slice(0, rpp).map(toItem), rpp, more: found.length > rpp }
  }

  *#pageOf(
    { page, rpp }: ListQuery,
    listed: ListedRows,
    sent: SqlValue | undefined,
  ): Transaction<Found<Row>> {
    const { columns, ranked, walks } = this.#options
    const { lists, group } = listed
    if (ranked && lists && (group === undefined || (yield* ranked.isCounted(group)))) {
      return yield* ranked.page({ lists, group, page, rpp, until: sent as number, columns })
    }
    const { where, filter, position } = this.#conditionsOf(listed)
    const until = sent ?? (walks ? yield* this.#newest(position, where) : null)
    const all = this.#all(where, filter, until === null ? undefined : sql`${this.#position} <= ${until}`)
    const { total } = yield* one<{ total: number }>(sql`
      SELECT count(*) AS total FROM (SELECT 1 FROM ${this.#table} WHERE ${all} LIMIT ${MOST_PAGED + 1}) AS counted`)
    const rows = yield* many<Row>(sql`
      SELECT ${columns} FROM ${this.#table} WHERE ${all}
      ORDER BY ${position} ${this.#direction} LIMIT ${rpp} OFFSET ${(page - 1) * rpp}`)
    return { rows, total, until }
  }

  *#following(position: SqlValue, limit: number, rows: ListedRows): Transaction<Row[]> {
    const { ascending, columns, ranked } = this.#options
    const { lists, group } = rows
    if (ranked && lists && (group === undefined || (yield* ranked.isCounted(group)))) {
      return yield* ranked.after({ lists, group, position: position as number, limit, columns })
    }
    const { where, filter, position: order } = this.#conditionsOf(rows)
    const beyond = ascending ? sql`>` : sql`<`
    const listed = this.#all(where, filter, sql`${this.#position} ${beyond} ${position}`)
    return yield* many<Row>(sql`
      SELECT ${columns} FROM ${this.#table} WHERE ${listed} ORDER BY ${order} ${this.#direction} LIMIT ${limit}`)
  }

  /**
   * The rows that are read without counts, and what to sort them by. A small group is sorted whole:
   * PostgreSQL would otherwise search all rows, newest first, for a group that it takes for large.
   */
  #conditionsOf({ lists, group, where, filter }: ListedRows) {
    const { ranked } = this.#options
    const position = this.#position
    if (!ranked || !lists || group === undefined) return { where, filter, position }
    const sorted = byEngine({ sqlite: position, postgres: sql`(${position} + 0)` })
    return { where: ranked.ofGroup(group), filter: ranked.onLists(lists), position: sorted }
  }

  /** The largest position, or null on an empty list. */
  *#newest(position: Sql, where: Sql | undefined): Transaction<SqlValue> {
    const { newest } = yield* one<{ newest: SqlValue }>(
      sql`SELECT max(${position}) AS newest FROM ${this.#table} WHERE ${this.#all(where)}`,
    )
    return newest
  }

  /**
   * The position of the row with an id that the client sent. An id is the cursor, because a number
   * would reveal how many rows other callers have. An id without access behaves like an unknown one.
   */
  *#find(parameter: 'until' | 'after', id: string, { known, where }: ListedRows): Transaction<SqlValue> {
    const { idPrefix, position } = this.#options
    if (position === undefined) {
      // The id is the position, so the row may be gone from the table.
      if (new RegExp(`^${idPrefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`).test(id)) return id
    } else {
      const found = yield* maybeOne<{ position: SqlValue }>(sql`
        SELECT ${this.#position} AS position FROM ${this.#table}
        WHERE id = ${id} AND (${known ?? where ?? sql`TRUE`})`)
      if (found) return found.position
    }
    const what =
      parameter === 'until' ? 'from a link of this list' : `the id of a ${idPrefix} that this list had`
    throw invalidRequest({ parameter, detail: `must be ${what}: leave it out to begin a new walk` })
  }

  /** The id at a position, or '' on an empty list. */
  *#idAt(position: SqlValue): Transaction<string> {
    const found = yield* maybeOne<{ id: string }>(
      sql`SELECT id FROM ${this.#table} WHERE ${this.#position} = ${position}`,
    )
    return found?.id ?? ''
  }

  get #direction(): Sql {
    return this.#options.ascending ? sql`ASC` : sql`DESC`
  }

  #all(...conditions: readonly (Sql | undefined)[]): Sql {
    const present = [this.#options.where, ...conditions].flatMap((one) => (one ? [sql`(${one})`] : []))
    return present.length === 0 ? sql`TRUE` : join(present, ' AND ')
  }
}

const tooFar = (rpp: number) =>
  invalidRequest({
    parameter: 'page',
    detail: `must be ${Math.ceil(MOST_PAGED / rpp)} or less: pages end at row ${MOST_PAGED}. Read on with \`after\` and the last id, without \`page\``,
  })

interface Found<Row> {
  readonly rows: Row[]
  readonly total: number
  readonly until: SqlValue
}
