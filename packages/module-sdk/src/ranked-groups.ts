import { byEngine, identifier, join, type Sql, sql } from './sql.ts'
import { type Database, many, maybeOne, one, run, type Transaction } from './transaction.ts'

/**
 * The counts of large groups: of every value of a column, such as `owner`, that more rows have than
 * a page may count one by one. RankedList says which tables and triggers it needs.
 *
 * The triggers note each change of a large group's row in `_group_change`. `fold` adds these to the
 * counts, and finds groups that have become large. It counts the rows of these from the oldest on, a
 * slice at a time. `_group_progress` has the last position that was counted; without a row there
 * the counts are complete.
 *
 * The invariant, in every snapshot: up to the last counted position, counts plus changes equal the
 * rows. A row beyond it is counted as it is then, and its changes so far are dropped with that. On
 * PostgreSQL SERIALIZABLE holds this for a transaction that did not see that its group is large: it
 * fails if a slice is counted without its row.
 */

/** A group of at most this many rows is counted row by row. */
const SMALL = 256
/** Rows looked at for new large groups, changes folded and rows counted by one transaction at most. */
const SLICE = 500
/** Slices without a new large group after which the progress of the search is written. */
const SEARCHED_AT_ONCE = 20
/** Names the progress of the search for large groups: all rows up to there were looked at. */
const SEARCH = ''

/** The tables of counts in this process. They follow the rows in the background. */
export const countTables = new Set<string>()

export function countTable(name: string): Sql {
  countTables.add(name)
  return identifier(name)
}

interface RankedRows {
  /** The table of the rows. */
  readonly table: string
  readonly list: Sql
  readonly group: Sql
  readonly where: Sql
  /** The levels as a table, with the width of their blocks. */
  readonly levels: Sql
  /** That of level 1. */
  readonly width: number
}

/** A change of the number of rows at a position. */
export interface Change {
  readonly position: number
  readonly count: number
}

/** What `look` has found to do. */
interface Found {
  /** The position up to which `large` is complete. */
  readonly seen: number
  readonly large: readonly string[]
  readonly isDue: boolean
  readonly more: boolean
  /** There is nothing to do yet but to look further. */
  readonly onlyMore: boolean
}

export class RankedGroups {
  readonly #ranked: RankedRows
  readonly #rows: Sql
  readonly #groups: Sql
  readonly #progress: Sql
  readonly #counts: Sql
  readonly #changes: Sql

  constructor(ranked: RankedRows) {
    this.#ranked = ranked
    this.#rows = identifier(ranked.table)
    this.#groups = countTable(`${ranked.table}_group`)
    this.#progress = countTable(`${ranked.table}_group_progress`)
    this.#counts = countTable(`${ranked.table}_group_rank`)
    this.#changes = countTable(`${ranked.table}_group_change`)
  }

  /** Whether the counts of a group are complete. A small group has none. */
  *isCounted(group: string): Transaction<boolean> {
    const found = yield* maybeOne(sql`
      SELECT name FROM ${this.#groups} WHERE name = ${group}
        AND NOT EXISTS (SELECT 1 FROM ${this.#progress} WHERE name = ${group})`)
    return found !== undefined
  }

  /** The counts of a group to add up, as a table. The changes come on top. */
  counted(group: string): Sql {
    return sql`(SELECT level, block, list, count FROM ${this.#counts} WHERE name = ${group}) AS counted`
  }

  /** The changes of a group's lists that its counts do not have yet. */
  changesOf(group: string, lists: readonly string[]): Transaction<Change[]> {
    return many<Change>(sql`
      SELECT position, CAST(sum(count) AS BIGINT) AS count FROM ${this.#changes}
      WHERE name = ${group} AND list IN (${join(lists.map((list) => sql`${list}`))}) GROUP BY position`)
  }

  /**
   * The blocks of level 1 that have the `limit` newest rows of a group's lists from a position in
   * block `first` downwards.
   */
  *newest(
    { group, lists, changes }: { group: string; lists: readonly string[]; changes: readonly Change[] },
    first: number,
    limit: number,
  ): Transaction<number[]> {
    // Each change can have emptied one of the blocks.
    const most = limit + changes.length
    const each = lists.map(
      (list) => sql`
        SELECT block, count FROM (
          SELECT block, count FROM ${this.#counts}
          WHERE name = ${group} AND list = ${list} AND level = 1 AND block <= ${first}
          ORDER BY block DESC LIMIT ${most}) AS newest`,
    )
    const counts = yield* many<{ block: number; count: number }>(join(each, ' UNION ALL '))
    const changed = changes.map(({ position, count }) => ({ block: this.#blockOf(position), count }))
    const blocks: number[] = []
    let found = 0
    for (const { block, count } of byBlock([...counts, ...changed]).toReversed()) {
      if (found >= limit) break
      if (count <= 0 || block > first) continue
      blocks.push(block)
      // Rows of the first block may be newer than the position.
      if (block < first) found += count
    }
    return blocks
  }

  #blockOf(position: number): number {
    return Math.floor(position / this.#ranked.width)
  }

  /**
   * Adds changes to the counts, and counts more rows of large groups. Every statement of its
   * transactions is about a slice at most.
   * @returns whether there is more to do
   */
  async fold(database: Database): Promise<boolean> {
    // Looks in snapshots, with which no writer can conflict.
    let found = await database.snapshot(() => this.#look())
    for (let slices = 1; found.onlyMore && slices < SEARCHED_AT_ONCE; slices += 1) {
      const { seen } = found
      found = await database.snapshot(() => this.#look(seen))
    }
    if (!found.isDue) return false
    const more = await database.transaction(() => this.#foldSlice(found))
    return more || found.more
  }

  /** @param from where to look on, instead of where the last transaction ended */
  *#look(from?: number): Transaction<Found> {
    const { progress, due } = yield* one<{ progress: number; due: number }>(sql`
      SELECT coalesce((SELECT position FROM ${this.#progress} WHERE name = ${SEARCH}), 0) AS progress,
        (SELECT count(*) FROM (SELECT 1 FROM ${this.#changes} LIMIT 1) AS present)
        + (SELECT count(*) FROM ${this.#progress} WHERE name <> ${SEARCH}) AS due`)
    const seen = from ?? progress
    const slice = sql`
      SELECT seq, ${this.#ranked.group} AS name FROM ${this.#rows} WHERE seq > ${seen} ORDER BY seq LIMIT ${SLICE}`
    const { last, count } = yield* one<{ last: number | null; count: number }>(
      sql`SELECT max(seq) AS last, count(*) AS count FROM (${slice}) AS slice`,
    )
    const large = last === null ? [] : yield* this.#large(sql`(${slice})`)
    const more = count === SLICE
    return {
      ...{ seen: last ?? seen, large, more },
      isDue: due > 0 || (last ?? seen) > progress,
      onlyMore: more && due === 0 && large.length === 0,
    }
  }

  /** Those of the names in a table that are of large groups not known yet. */
  *#large(names: Sql): Transaction<string[]> {
    const { group, where } = this.#ranked
    const rows = yield* many<{ name: string }>(sql`
      SELECT name FROM (SELECT DISTINCT name FROM ${names} AS named) AS candidate
      WHERE NOT EXISTS (SELECT 1 FROM ${this.#groups} AS known WHERE known.name = candidate.name)
        AND (
          SELECT seq FROM ${this.#rows} AS member
          WHERE ${inIndexOrder(sql`member.${group}`, sql`candidate.name`, 0, Number.MAX_SAFE_INTEGER)} AND ${where}
          ORDER BY member.${group}, seq LIMIT 1 OFFSET ${SMALL}) IS NOT NULL`)
    return rows.map(({ name }) => name)
  }

  *#foldSlice({ seen, large }: Found): Transaction<boolean> {
    yield* run(sql`
      INSERT INTO ${this.#progress} (name, position) VALUES (${SEARCH}, ${seen})
      ON CONFLICT (name) DO UPDATE SET position = excluded.position`)
    yield* this.#begin(large)
    const more = yield* this.#foldChanges()
    return (yield* this.#countRows()) || more
  }

  /** From now on the triggers note the changes of these groups. */
  *#begin(large: readonly string[]): Transaction<void> {
    for (const name of large) {
      const isNew = yield* run(
        sql`INSERT INTO ${this.#groups} (name) VALUES (${name}) ON CONFLICT (name) DO NOTHING`,
      )
      if (isNew) yield* run(sql`INSERT INTO ${this.#progress} (name, position) VALUES (${name}, 0)`)
    }
  }

  /** Returns whether there may be more. */
  *#foldChanges(): Transaction<boolean> {
    const { last, count } = yield* one<{ last: number | null; count: number }>(sql`
      SELECT max(id) AS last, count(*) AS count FROM (
        SELECT id FROM ${this.#changes} ORDER BY id LIMIT ${SLICE}) AS slice`)
    if (last === null) return false
    const slice = sql`(SELECT name, position, list, count FROM ${this.#changes} WHERE id <= ${last})`
    // A row that came from another group without a new position may have made its group large.
    yield* this.#begin(yield* this.#large(slice))
    yield* this.#add(sql`
      SELECT name, list, level, position / width, CAST(sum(count) AS BIGINT)
      FROM ${slice} AS change CROSS JOIN ${this.#ranked.levels}
      WHERE EXISTS (SELECT 1 FROM ${this.#groups} AS known WHERE known.name = change.name)
        AND NOT EXISTS (
          SELECT 1 FROM ${this.#progress} AS progress
          WHERE progress.name = change.name AND progress.position < change.position)
      GROUP BY 1, 2, 3, 4`)
    yield* run(sql`DELETE FROM ${this.#changes} WHERE id <= ${last}`)
    yield* run(sql`DELETE FROM ${this.#counts} WHERE count = 0`)
    return count === SLICE
  }

  /** Counts a slice of the rows of one group. Returns whether there may be more. */
  *#countRows(): Transaction<boolean> {
    const { list, group, where } = this.#ranked
    const progress = yield* maybeOne<{ name: string; position: number }>(
      sql`SELECT name, position FROM ${this.#progress} WHERE name <> ${SEARCH} ORDER BY name LIMIT 1`,
    )
    if (progress === undefined) return false
    const { name, position } = progress
    const upTo = (end: number) => sql`${inIndexOrder(group, name, position + 1, end)} AND ${where}`
    const { last, count } = yield* one<{ last: number; count: number }>(sql`
      SELECT max(seq) AS last, count(*) AS count FROM (
        SELECT seq FROM ${this.#rows} WHERE ${upTo(Number.MAX_SAFE_INTEGER)}
        ORDER BY ${group}, seq LIMIT ${SLICE}) AS slice`)
    const isLast = count < SLICE
    const end = isLast ? Number.MAX_SAFE_INTEGER : last
    yield* run(sql`
      DELETE FROM ${this.#changes} WHERE name = ${name} AND position > ${position} AND position <= ${end}`)
    yield* this.#add(sql`
      SELECT ${group}, ${list}, level, seq / width, count(*) FROM ${this.#rows} CROSS JOIN ${this.#ranked.levels}
      WHERE ${upTo(end)} GROUP BY 1, 2, 3, 4`)
    yield* run(
      isLast
        ? sql`DELETE FROM ${this.#progress} WHERE name = ${name}`
        : sql`UPDATE ${this.#progress} SET position = ${end} WHERE name = ${name}`,
    )
    return true
  }

  *#add(counts: Sql): Transaction<void> {
    yield* run(sql`
      INSERT INTO ${this.#counts} (name, list, level, block, count) ${counts}
      ON CONFLICT (name, list, level, block) DO UPDATE SET count = ${this.#counts}.count + excluded.count`)
  }
}

export interface BlockCount {
  readonly block: number
  readonly count: number
}

/** The sum of the counts of each block, in the order of the blocks. */
export function byBlock(counts: readonly BlockCount[]): BlockCount[] {
  const sums = new Map<number, number>()
  for (const { block, count } of counts) sums.set(block, (sums.get(block) ?? 0) + count)
  return Array.from(sums, ([block, count]) => ({ block, count })).sort((a, b) => a.block - b.block)
}

/**
 * The rows with a value in a column and a position from `first` to `last`. With ORDER BY the column
 * and `seq`, an index on both reads no others. PostgreSQL assumes that the rows of a value are spread
 * evenly over the table, and would search all rows in the order of `seq`; comparing rows leaves it
 * only this index.
 */
export function inIndexOrder(column: Sql, value: string | Sql, first: number, last: number): Sql {
  return byEngine({
    sqlite: sql`${column} = ${value} AND seq >= ${first} AND seq <= ${last}`,
    postgres: sql`(${column}, seq) >= (${value}, ${first}) AND (${column}, seq) <= (${value}, ${last})`,
  })
}
