import { identifier, join, many, run, Sql, type SqlValue, sql, type Transaction } from '@mortise/module-sdk'
import type { Found, Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'
import { unboundedLists } from './growth.ts'
import { grownTables, planRules, readsOf } from './plans.ts'

/** The rows of the largest table. A statement that is long with the few is not tried with the many. */
const SIZES = [1_500, 12_000, 96_000]
/** A read that takes longer is long, in milliseconds. A count of the most rows takes about a third. */
const LONG = 10
/** The fastest counts: the machine has other work. */
const TRIES = 3

type Row = Readonly<Record<string, unknown>>

export const longReads: Rule<World> = {
  code: 'long-read',
  finds: 'a read that takes long once there are many rows, and that every other caller waits for',
  remedy:
    'Add an index or a LIMIT; count only as far as it matters: SELECT count(*) FROM (SELECT 1 FROM … LIMIT 1001). If the read has to go through so many rows, declare it, so that it runs beside the event loop: database.many(sql`…`, { long: true }).',
  async find(world) {
    const grown = await grownTables(world)
    if (grown.length === 0) return []
    /** Their own remedies come first. */
    const others = [unboundedLists, ...planRules].map((rule) => rule.find(world))
    const known = new Set((await Promise.all(others)).flat().map(({ where }) => where))
    const reads = readsOf(world).filter(({ route }) => !known.has(route.where))
    return reads.length === 0 ? [] : measure(world, grown, reads)
  },
}

/** Adds rows in a transaction that is rolled back. */
async function measure(
  { storage }: World,
  tables: readonly string[],
  reads: ReturnType<typeof readsOf>,
): Promise<Found[]> {
  const done = new Error('all is measured')
  const found = new Map<string, Found>()
  let isDone = false
  try {
    await storage.transaction(function* (): Transaction<void> {
      // The second time, after a rehearsal.
      if (isDone) throw done
      const copies = yield* copiesOf(tables)
      const times = new Map<Sql, number>()
      for (const size of SIZES) {
        yield* copies.to(size)
        for (const { route, query } of reads) {
          if (found.has(route.where)) continue
          const took = yield* fastest(query)
          const why = `it takes ${shown(took)} with ${size} rows${before(times.get(query))}: ${textOf(query)}`
          if (took > LONG) found.set(route.where, { where: route.where, why })
          times.set(query, took)
        }
      }
      isDone = true
      throw done
    })
  } catch (error) {
    if (error !== done) throw error
  }
  return [...found.values()]
}

const shown = (milliseconds: number) => `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`
const before = (took: number | undefined) =>
  took === undefined ? '' : `, and ${shown(took)} with an eighth of them`
const textOf = ({ strings }: Sql) => strings.join('?').replace(/\s+/g, ' ').trim().slice(0, 160)

function* fastest(query: Sql): Transaction<number> {
  let best = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && best > LONG; tries += 1) {
    const begun = performance.now()
    yield* many(query)
    best = Math.min(best, performance.now() - begun)
  }
  return best
}

interface Copied {
  readonly table: string
  readonly rows: readonly Row[]
  /** The columns of each key. */
  readonly keys: readonly (readonly string[])[]
}

/** Copies of the rows that are there, under ids of their own, which refer to copies of each other. */
function* copiesOf(names: readonly string[]) {
  const tables: Copied[] = []
  const ids = new Set<unknown>()
  for (const table of names) {
    const rows = yield* many<Row>(sql`SELECT * FROM ${identifier(table)}`)
    const keys = yield* keysOf(table)
    tables.push({ table, rows, keys })
    for (const [column, ...more] of keys)
      if (column !== undefined && more.length === 0)
        for (const row of rows) if (typeof row[column] === 'string') ids.add(row[column])
  }
  const most = Math.max(...tables.map(({ rows }) => rows.length))
  let copy = 0
  return {
    /** Until the largest table has so many rows. */
    *to(size: number): Transaction<void> {
      for (; most * (copy + 1) < size; copy += 1) for (const one of tables) yield* insert(one, copy + 1, ids)
    },
  }
}

function* insert({ table, rows, keys }: Copied, copy: number, ids: ReadonlySet<unknown>): Transaction<void> {
  const columns = Object.keys(rows[0] ?? {})
  const names = join(columns.map((name) => identifier(name))).strings.join('')
  const first = `INSERT OR IGNORE INTO ${identifier(table).strings.join('')} (${names}) VALUES (`
  const strings = [first, ...columns.slice(1).fill(', '), ')']
  for (const row of rows) {
    const values = { ...row }
    for (const name of columns) if (ids.has(row[name])) values[name] = `${row[name]}~${copy}`
    for (const key of keys) {
      const last = key.at(-1)
      if (last === undefined || key.some((name) => values[name] !== row[name])) continue
      const value = row[last]
      values[last] = typeof value === 'number' ? value + copy * 1_000_000 : `${value}~${copy}`
    }
    yield* run(new Sql(strings, Object.values(values) as SqlValue[]))
  }
}

/** The columns of the primary key and of each unique index. */
function* keysOf(table: string): Transaction<string[][]> {
  const rows = yield* many<{ key: string; name: string | null }>(sql`
    SELECT '' AS "key", name FROM pragma_table_info(${table}) WHERE pk > 0
    UNION ALL
    SELECT list.name, column.name FROM pragma_index_list(${table}) AS list, pragma_index_info(list.name) AS column
    WHERE list."unique"`)
  const keys = Map.groupBy(rows, ({ key }) => key)
  return [...keys.values()].map((key) => key.flatMap(({ name }) => name ?? []))
}
