import { identifier, join, type Sql, sql } from './sql.ts'
import { many, one, run, type Transaction } from './transaction.ts'

/**
 * A long list that is read by page number, newest first, in the same time anywhere: page 1 or the last, exact
 * total included, at a thousand rows or at ten million. A row is on one of several named lists (of purchases:
 * one list per status), and any of them together are read as one.
 *
 * How: every row has a position that rises in the order of creation. Beside the rows, a table counts the rows of
 * each list per block of 64 positions (level 1), per 64 of those blocks (level 2), and per 64 of those (level 3). A
 * total, and the row that a page begins with, are found by adding up some hundred counts instead of counting rows.
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

/** Positions per block of level 1, and blocks per block of the level above. */
const WIDTH = 64
const LEVELS = [1, 2, 3]
const TOP = LEVELS.length

/** How many positions a block of `level` covers; a block of level 0 is a position. */
const span = (level: number) => WIDTH ** level
const blockOf = (position: number, level: number) => Math.floor(position / span(level))

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
    const blocks = LEVELS.map((level) => sql`(${level}, ${blockOf(position, level)}, ${list}, 1)`)
    yield* run(sql`
      INSERT INTO ${this.#counts} (level, block, list, count) VALUES ${join(blocks)}
      ON CONFLICT (level, block, list) DO UPDATE SET count = ${this.#counts}.count + 1`)
  }

  /** Counts a row that left `list` for good. @throws {Error} where no row of `list` was ever counted there */
  *remove(position: number, list: string): Transaction<void> {
    const blocks = LEVELS.map((level) => sql`(${level}, ${blockOf(position, level)})`)
    const changed = yield* run(sql`
      UPDATE ${this.#counts} SET count = count - 1
      WHERE list = ${list} AND (level, block) IN (VALUES ${join(blocks)})`)
    if (changed !== LEVELS.length) {
      throw new Error(`position ${position} was never added to the list "${list}": add() it first`)
    }
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
    const each = lists.map(
      (list) => sql`
        SELECT max(${this.#position}) AS position FROM ${this.#rows}
        WHERE ${this.#list} = ${list} AND ${this.#where}`,
    )
    const { newest } = yield* one<{ newest: number }>(sql`
      SELECT coalesce(max(position), 0) AS newest FROM (${join(each, ' UNION ALL ')}) AS lists`)
    return newest
  }

  /**
   * How many rows there are up to a position. Of each level, the whole blocks that the block of the level above is
   * only partly made of; of the last block, the rows.
   */
  *#total(lists: readonly string[], until: number): Transaction<number> {
    const end = until + 1
    const counts = LEVELS.map((level) => {
      const start = level === TOP ? 0 : blockOf(end, level + 1) * WIDTH
      return sql`
        SELECT count FROM ${this.#counts} WHERE list IN (${names(lists)})
          AND level = ${level} AND block >= ${start} AND block < ${blockOf(end, level)}`
    })
    const { total } = yield* one<{ total: number }>(sql`
      SELECT CAST(coalesce(sum(count), 0) AS BIGINT) AS total FROM (
        ${join(counts, ' UNION ALL ')}
        UNION ALL
        SELECT count(*) AS count FROM ${this.#rows} WHERE ${this.#list} IN (${names(lists)}) AND ${this.#where}
          AND ${this.#position} >= ${blockOf(end, 1) * WIDTH} AND ${this.#position} < ${end}
      ) AS counts`)
    return total
  }

  /** The position of the row that has `rank` older rows on `lists`. */
  *#positionOf(rank: number, lists: readonly string[]): Transaction<number> {
    let start = 0
    let end = Number.MAX_SAFE_INTEGER
    let left = rank
    for (const level of LEVELS.toReversed()) {
      const { block, before } = yield* this.#blockOf(left, level, start, end, lists)
      start = block * WIDTH
      end = start + WIDTH
      left -= before
    }
    const { position } = yield* one<{ position: number }>(sql`
      SELECT ${this.#position} AS position FROM ${this.#rows} WHERE ${this.#list} IN (${names(lists)})
        AND ${this.#where} AND ${this.#position} >= ${start} AND ${this.#position} < ${end}
      ORDER BY ${this.#position} LIMIT 1 OFFSET ${left}`)
    return position
  }

  /** Of the blocks from `start` until before `end`: the one with the row that has `rank` older rows in them. */
  *#blockOf(rank: number, level: number, start: number, end: number, lists: readonly string[]) {
    const blocks = yield* many<{ block: number; count: number }>(sql`
      SELECT block, CAST(sum(count) AS BIGINT) AS count FROM ${this.#counts} WHERE list IN (${names(lists)})
        AND level = ${level} AND block >= ${start} AND block < ${end}
      GROUP BY block ORDER BY block`)
    let before = 0
    for (const { block, count } of blocks) {
      if (rank < before + count) return { block, before }
      before += count
    }
    throw new Error(
      'the counts of a ranked list do not add up: a row was changed without add(), move() or remove()',
    )
  }

  /**
   * `limit` rows from a position down. An index on (list, position) is in order within one list only, so each list
   * is asked for its next positions, and the rows are read between the outermost of them.
   */
  *#down<Row>(first: number, limit: number, lists: readonly string[], columns: Sql): Transaction<Row[]> {
    const each = lists.map(
      (list) => sql`
        SELECT position FROM (
          SELECT ${this.#position} AS position FROM ${this.#rows}
          WHERE ${this.#list} = ${list} AND ${this.#where} AND ${this.#position} <= ${first}
          ORDER BY ${this.#position} DESC LIMIT ${limit}
        ) AS list`,
    )
    const found = yield* many<{ position: number }>(join(each, ' UNION ALL '))
    const positions = found.map(({ position }) => position).sort((one, other) => other - one)
    const last = positions[limit - 1] ?? 0
    return yield* many<Row>(sql`
      SELECT ${columns} FROM ${this.#rows} WHERE ${this.#list} IN (${names(lists)}) AND ${this.#where}
        AND ${this.#position} >= ${last} AND ${this.#position} <= ${first}
      ORDER BY ${this.#position} DESC`)
  }
}

const names = (lists: readonly string[]) => join(lists.map((list) => sql`${list}`))
