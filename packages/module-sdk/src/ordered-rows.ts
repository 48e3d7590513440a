import { byEngine, identifier, join, type Sql, type SqlValue, sql } from './sql.ts'

/**
 * Rows by the values of columns: `{ owner: caller.id, status: 'open' }`. Several values of a column
 * select the rows with any of them.
 */
export type RowValues = Readonly<Record<string, Value | readonly Value[]>>

type Value = Exclude<SqlValue, null>

/** Some rows of a table, in the order of a unique column. */
export interface OrderedRows {
  readonly table: Sql
  readonly position: Sql
  readonly ascending: boolean
  readonly where: RowValues
  /** What else must be true of each row. */
  readonly condition: Sql
}

/** A part of the rows: those after a position in the order, or those up to a position. */
export interface Part {
  readonly after?: SqlValue | undefined
  readonly until?: SqlValue | undefined
}

/** How many rows to read, how many to skip before them, and the sum of both. */
export type Window<Value = SqlValue> = readonly [limit: Value, offset: Value, reach: Value]

/**
 * The positions of a part of the rows, in order, as a SELECT of the column `position`.
 *
 * Each combination of values is one read of the index on the columns of `where` and the position.
 * The index has the positions in order, so the engine merges the reads and stops at the limit: the
 * cost depends on `window`, not on the number of rows.
 */
export function positionsOf(rows: OrderedRows, part: Part, window: Window): Sql {
  return merge(readsOf(rows, part), sql`ORDER BY position ${directionOf(rows)}`, window)
}

/** A SELECT of the number of rows of a part, which is at most `most`. */
export function countOf(rows: OrderedRows, part: Part, most: SqlValue): Sql {
  return sql`SELECT count(*) AS total FROM (${merge(readsOf(rows, part), sql``, [most, 0, most])}) AS counted`
}

/** The rows with these values, as a condition. */
export function conditionOf(where: RowValues): Sql {
  const each = Object.entries(where).map(([column, values]) => {
    const any = [values].flat().map((value) => sql`${identifier(column)} = ${value as Value}`)
    return any.length === 0 ? sql`FALSE` : sql`(${join(any, ' OR ')})`
  })
  return each.length === 0 ? sql`TRUE` : join(each, ' AND ')
}

/** PostgreSQL does not see that the reads are in the order of the merge, and would read them whole. */
function merge(reads: readonly Sql[], order: Sql, [limit, offset, reach]: Window): Sql {
  const [only] = reads.length === 1 ? reads : []
  const part = sql`LIMIT ${limit} OFFSET ${offset}`
  const limited = reads.map((read) => sql`(${read} LIMIT ${reach})`)
  return byEngine({
    sqlite: sql`${join(reads, ' UNION ALL ')} ${order} ${part}`,
    postgres: only ? sql`${only} ${part}` : sql`${join(limited, ' UNION ALL ')} ${order} ${part}`,
  })
}

const directionOf = ({ ascending }: OrderedRows) => (ascending ? sql`ASC` : sql`DESC`)

/** One for each combination of values: positions in order. */
function readsOf(rows: OrderedRows, part: Part): Sql[] {
  const { table, position, ascending, where, condition } = rows
  const direction = directionOf(rows)
  const beyond = ascending ? sql`>` : sql`<`
  const columns = Object.keys(where).map((name) => sql`${table}.${identifier(name)}`)
  const ordered = join([...columns, sql`${table}.${position}`].map((column) => sql`${column} ${direction}`))
  const selected = sql`SELECT ${table}.${position} AS position FROM ${table} WHERE ${condition}`
  const and = (conditions: readonly Sql[]) => join([selected, ...conditions], ' AND ')
  const place = [
    ...(part.after === undefined ? [] : [sql`${table}.${position} ${beyond} ${part.after}`]),
    ...(part.until === undefined ? [] : [sql`${table}.${position} <= ${part.until}`]),
  ]
  const reads = combinations(Object.values(where)).map((values) => {
    const equal = columns.map((column, index) => sql`${column} = ${values[index] as Value}`)
    const bounds = columns.length === 0 ? place : boundsOf(rows, columns, values, part)
    return byEngine({
      sqlite: and([...equal, ...place]),
      postgres: sql`${and(bounds)} ORDER BY ${ordered}`,
    })
  })
  return reads.length === 0 ? [sql`${selected} AND FALSE`] : reads
}

/**
 * The same rows as a range of the index. PostgreSQL assumes that the rows with a value are spread
 * evenly over the table, and may search all rows in the order of the position for them. A
 * comparison of rows leaves it only this index. Each end has one bound: with two it may begin at
 * the wrong one.
 */
function boundsOf(
  { table, position, ascending }: OrderedRows,
  columns: readonly Sql[],
  values: readonly Value[],
  { after, until }: Part,
): Sql[] {
  const bound = (operator: Sql, place: SqlValue | undefined) => {
    const end = place === undefined ? [] : [sql`${place}`]
    const left = end.length === 0 ? columns : [...columns, sql`${table}.${position}`]
    const right = [...values.map((value) => sql`${value}`), ...end]
    return sql`(${join(left)}) ${operator} (${join(right)})`
  }
  const low = ascending && after !== undefined ? bound(sql`>`, after) : bound(sql`>=`, undefined)
  const high = !ascending && after !== undefined ? bound(sql`<`, after) : bound(sql`<=`, until)
  return [low, high]
}

/** `[['a', 'b'], 1]` → `[['a', 1], ['b', 1]]` */
const combinations = (values: readonly (Value | readonly Value[])[]): Value[][] =>
  values.reduce<Value[][]>(
    (all, some) => all.flatMap((one) => [some].flat().map((value) => [...one, value as Value])),
    [[]],
  )
