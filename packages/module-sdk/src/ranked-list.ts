import { identifier, join, type Sql, sql } from './sql.ts'
import { many, one, run, type Transaction } from './transaction.ts'

/**
 * A long list that is read by page number, newest first, in the same time anywhere: page 1 or the last, exact
 * total included, at a thousand rows or at ten million. A row is on one of several named lists (of purchases:
 * one list per status), and any of them together are read as one.
 *
 * How: every row has a position that rises in the order of creation. Beside the rows, a table counts the rows of
 * each list per block of 512 positions (level 1) and per 512 of those blocks (level 2). A total, and the row that
 * a page begins with, are found by adding up a few hundred counts instead of counting rows.
 *
 * The invariant: a count equals the rows of its list in its block that satisfy `where`. Call `add`, `move` and
 * `remove` in the transaction that changes the row. Positions are never used twice, so rows stay in their table
 * when they leave the list: `where` tells which are on it.
 *
 * The table of counts is the module's own, made by its migration:
 *
 *     CREATE TABLE purchase_rank (
 *       level INTEGER NOT NULL,
 *       block BIGINT NOT NULL,
 *       list TEXT NOT NULL,
 *       count BIGINT NOT NULL CHECK (count >= 0),
 *       PRIMARY KEY (level, block, list)
 *     );
 *
 * and the rows need two indexes: a unique one on the position, and one on (list, position) with `where`.
 */
export interface RankedListSource {
  /** The table of counts. */
  readonly counts: string
  /** The table of the rows. */
  readonly rows: string
  /** Its column of positions, a BIGINT. */
  readonly position: string
  /** Its column that names the list a row is on. */
  readonly list: string
  /** What holds for the rows that are on a list, written as in the index: ``sql`deleted_at IS NULL` ``. */
  readonly where: Sql
}

export interface RankedPage<Row> {
  readonly rows: Row[]
  /** How many rows all pages have together. */
  readonly total: number
  /** The newest position on the list when the walk began, or 0: hand it to the other pages, and rows added since are not on them. */
  readonly until: number
}

/** Positions per block, and blocks per block of level 2. */
const WIDTH = 512
const FIRST = 1
const SECOND = 2

const blockOf = (position: number) => Math.floor(position / WIDTH)

export class RankedList {
  readonly #counts: Sql
  readonly #rows: Sql
  readonly #position: Sql
  readonly #list: Sql
  readonly #where: Sql

  constructor(source: RankedListSource) {
    this.#counts = identifier(source.counts)
    this.#rows = identifier(source.rows)
    this.#position = identifier(source.position)
    this.#list = identifier(source.list)
    this.#where = source.where
  }

  /** The position of the row that this transaction is about to insert: the one place where positions are given. */
  *next(): Transaction<number> {
    const { newest } = yield* one<{ newest: number }>(
      sql`SELECT coalesce(max(${this.#position}), 0) AS newest FROM ${this.#rows}`,
    )
    return newest + 1
  }

  /** Counts a row that was inserted into `list`. */
  *add(position: number, list: string): Transaction<void> {
    const block = blockOf(position)
    yield* run(sql`
      INSERT INTO ${this.#counts} (level, block, list, count)
      VALUES (${FIRST}, ${block}, ${list}, 1), (${SECOND}, ${blockOf(block)}, ${list}, 1)
      ON CONFLICT (level, block, list) DO UPDATE SET count = ${this.#counts}.count + 1`)
  }

  /** Counts a row that left `list` for good. @throws {Error} where no row of `list` was ever counted there */
  *remove(position: number, list: string): Transaction<void> {
    const block = blockOf(position)
    const changed = yield* run(sql`
      UPDATE ${this.#counts} SET count = count - 1
      WHERE list = ${list} AND (level, block) IN (VALUES (${FIRST}, ${block}), (${SECOND}, ${blockOf(block)}))`)
    if (changed !== 2)
      throw new Error(`position ${position} was never added to the list "${list}": add() it first`)
  }

  /** Counts a row that went from one list to another. */
  *move(position: number, from: string, to: string): Transaction<void> {
    yield* this.remove(position, from)
    yield* this.add(position, to)
  }

  /**
   * One page of all rows on `lists` (at least one), newest first. Read it in a snapshot.
   *
   * @param query.until from the first page of the same walk
   * @param query.columns what to select of each row
   */
  *page<Row>(query: {
    readonly lists: readonly string[]
    readonly page: number
    readonly rpp: number
    readonly until?: number | undefined
    readonly columns: Sql
  }): Transaction<RankedPage<Row>> {
    const until = query.until ?? (yield* this.#newest(query.lists))
    const total = yield* this.#total(query.lists, until)
    const skipped = (query.page - 1) * query.rpp
    if (skipped >= total) return { rows: [], total, until }
    const first = yield* this.#positionOf(total - 1 - skipped, query.lists)
    return { rows: yield* this.#down(first, query.rpp, query.lists, query.columns), total, until }
  }

  *#newest(lists: readonly string[]): Transaction<number> {
    const position = sql`${this.#position} AS position`
    const [row] = yield* this.#down<{ position: number }>(Number.MAX_SAFE_INTEGER, 1, lists, position)
    return row?.position ?? 0
  }

  /** How many rows there are up to a position: whole blocks of level 2, then of level 1, then single rows. */
  *#total(lists: readonly string[], until: number): Transaction<number> {
    const block = blockOf(until)
    const wide = blockOf(block)
    const { total } = yield* one<{ total: number }>(sql`
      SELECT CAST(coalesce(sum(count), 0) AS BIGINT) AS total FROM (
        SELECT count FROM ${this.#counts}
        WHERE level = ${SECOND} AND block < ${wide} AND list IN (${names(lists)})
        UNION ALL
        SELECT count FROM ${this.#counts}
        WHERE level = ${FIRST} AND block >= ${wide * WIDTH} AND block < ${block} AND list IN (${names(lists)})
        UNION ALL
        SELECT count(*) FROM ${this.#rows}
        WHERE ${this.#list} IN (${names(lists)}) AND ${this.#where}
          AND ${this.#position} BETWEEN ${block * WIDTH} AND ${until}
      ) AS counts`)
    return total
  }

  /** The position of the row that has `rank` older rows on `lists`. */
  *#positionOf(rank: number, lists: readonly string[]): Transaction<number> {
    const wide = yield* this.#blockOfRank(SECOND, 0, Number.MAX_SAFE_INTEGER, rank, lists)
    const start = wide.block * WIDTH
    const block = yield* this.#blockOfRank(FIRST, start, start + WIDTH, rank - wide.before, lists)
    const inBlock = rank - wide.before - block.before
    const { position } = yield* one<{ position: number }>(sql`
      SELECT ${this.#position} AS position FROM ${this.#rows}
      WHERE ${this.#list} IN (${names(lists)}) AND ${this.#where}
        AND ${this.#position} BETWEEN ${block.block * WIDTH} AND ${block.block * WIDTH + WIDTH - 1}
      ORDER BY ${this.#position} LIMIT 1 OFFSET ${inBlock}`)
    return position
  }

  /** Of the blocks from `start` until before `end`: the one that holds the row with `rank` older rows in them. */
  *#blockOfRank(level: number, start: number, end: number, rank: number, lists: readonly string[]) {
    return yield* one<{ block: number; before: number }>(sql`
      SELECT block, CAST(upto - here AS BIGINT) AS before FROM (
        SELECT block, sum(count) AS here, sum(sum(count)) OVER (ORDER BY block) AS upto FROM ${this.#counts}
        WHERE level = ${level} AND block >= ${start} AND block < ${end} AND list IN (${names(lists)})
        GROUP BY block
      ) AS sums
      WHERE upto > ${rank} ORDER BY block LIMIT 1`)
  }

  /** `limit` rows from a position down. One range read per list: an index on (list, position) serves no other way. */
  *#down<Row>(first: number, limit: number, lists: readonly string[], columns: Sql): Transaction<Row[]> {
    const ranges = lists.map(
      (list) => sql`
        SELECT position FROM (
          SELECT ${this.#position} AS position FROM ${this.#rows}
          WHERE ${this.#list} = ${list} AND ${this.#where} AND ${this.#position} <= ${first}
          ORDER BY ${this.#position} DESC LIMIT ${limit}
        ) AS one_list`,
    )
    return yield* many<Row>(sql`
      SELECT ${columns} FROM ${this.#rows}
      WHERE ${this.#position} IN (
        SELECT position FROM (${join(ranges, ' UNION ALL ')}) AS lists ORDER BY position DESC LIMIT ${limit}
      )
      ORDER BY ${this.#position} DESC`)
  }
}

const names = (lists: readonly string[]) => join(lists.map((list) => sql`${list}`))
