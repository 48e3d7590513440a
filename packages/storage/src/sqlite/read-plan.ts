import type SqliteDatabase from 'better-sqlite3'

/** Rows that one loop of a statement reads. */
export interface Loop {
  readonly table: string
  /**
   * The loop reads all rows with the same values in these columns; all rows of the table if empty.
   */
  readonly columns: readonly string[]
}

/** The number of rows that a loop reads. */
type RowsOf = (loop: Loop) => number

/** The number of rows that a statement reads at most. */
export type ReadPlan = (rowsOf: RowsOf) => number

interface PlanRow {
  readonly id: number
  readonly parent: number
  readonly detail: string
}

interface Index {
  readonly table: string
  readonly columns: readonly string[]
  readonly isUnique: boolean
}

const SCAN = /^SCAN (\S+)/
const NO_TABLE = /^SCAN (?:CONSTANT ROW|\d+-ROW)/
const SEARCH = /^SEARCH (\S+) USING (?:(?:PARTIAL |COVERING )*INDEX (\S+)|(INTEGER PRIMARY KEY)|.*?) \((.*)\)/
/** Steps with an unknown number of rows. */
const ENDLESS = /^RECURSIVE STEP|VIRTUAL TABLE/
/** Steps whose children run for each row of their sibling. */
const FOR_EACH_ROW = /^CORRELATED|^MULTI-INDEX OR/

/**
 * SQLite's plan for a statement, from `EXPLAIN QUERY PLAN`, as a function of row counts. Sorting
 * does not count, and LIMIT is ignored: a filter may drop every row before the limit.
 * @param parameters their number in the statement
 */
export function readPlan(database: SqliteDatabase.Database, text: string, parameters: number): ReadPlan {
  const nulls = Array<null>(parameters).fill(null)
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(nulls) as PlanRow[]
  const tables = tablesIn(database, text, nulls)
  const children = Map.groupBy(rows, ({ parent }) => parent)
  const planOf = (id: number): ReadPlan => {
    if (!children.has(id)) return () => 0
    const parts = (children.get(id) ?? []).map((row) => {
      const loops = loopsOf(database, row.detail, tables)
      return { row, loops, beneath: planOf(row.id) }
    })
    return (rowsOf) => {
      let [product, sum] = [1, 0]
      for (const { row, loops, beneath } of parts) {
        if (ENDLESS.test(row.detail)) return Number.POSITIVE_INFINITY
        if (loops !== undefined) product *= Math.max(1, ...loops.map(rowsOf))
        else if (FOR_EACH_ROW.test(row.detail)) product *= Math.max(1, beneath(rowsOf))
        else sum += beneath(rowsOf)
      }
      return product + sum
    }
  }
  return planOf(0)
}

/**
 * Undefined for steps without a loop. Several loops if a table appears only by an alias: the
 * largest one counts.
 */
function loopsOf(
  database: SqliteDatabase.Database,
  detail: string,
  tables: readonly string[],
): Loop[] | undefined {
  if (NO_TABLE.test(detail)) return []
  const all = (name: string) =>
    (tables.includes(name) ? [name] : tables).map((table) => ({ table, columns: [] }))
  const scan = SCAN.exec(detail)
  if (scan) return all(scan[1] as string)
  const search = SEARCH.exec(detail)
  // A search without a term finds the first or the last row.
  if (search === null) return detail.startsWith('SEARCH ') ? [] : undefined
  const [, name = '', indexName, rowid, terms = ''] = search
  if (rowid !== undefined) return terms === 'rowid=?' ? [] : all(name)
  const index = indexName === undefined ? undefined : indexOf(database, indexName)
  const sought = terms.split(' AND ')
  const firstRange = sought.findIndex((term) => !/^[^<>()]+=\?$/.test(term))
  const equal = firstRange < 0 ? sought.length : firstRange
  if (index === undefined || equal === 0) return all(name)
  if (index.isUnique && equal === index.columns.length) return []
  return [{ table: index.table, columns: index.columns.slice(0, equal) }]
}

/** The tables that a statement opens. */
function tablesIn(database: SqliteDatabase.Database, text: string, nulls: readonly null[]): string[] {
  const program = database.prepare(`EXPLAIN ${text}`).all(nulls) as {
    opcode: string
    p2: number
    p3: number
  }[]
  const roots = program.filter(({ opcode, p3 }) => opcode === 'OpenRead' && p3 === 0).map(({ p2 }) => p2)
  const names = database
    .prepare('SELECT DISTINCT tbl_name FROM sqlite_schema WHERE rootpage IN (SELECT value FROM json_each(?))')
    .pluck()
    .all(JSON.stringify(roots)) as string[]
  return names
}

/** Undefined for an automatic index of one statement. */
function indexOf(database: SqliteDatabase.Database, name: string): Index | undefined {
  const found = database
    .prepare(`
      SELECT tbl_name AS "table", list."unique" AS isUnique FROM sqlite_schema
      JOIN pragma_index_list(tbl_name) AS list ON list.name = sqlite_schema.name
      WHERE sqlite_schema.name = ? AND type = 'index'`)
    .get(name) as { table: string; isUnique: number } | undefined
  if (found === undefined) return undefined
  const columns = database.prepare('SELECT name FROM pragma_index_info(?)').pluck().all(name) as string[]
  return { table: found.table, columns, isUnique: found.isUnique === 1 }
}
