import { join } from 'node:path'
import { inTemporaryFolder } from '@mortise/application'
import { openStorage } from '@mortise/host'
import {
  type Database,
  identifier,
  many,
  run,
  Sql,
  type SqlValue,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { Found, Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'
import { unboundedLists } from './growth.ts'
import { GROWN, planRules, readsOf } from './plans.ts'

/** The rows of the largest table. A statement that is long with the few is not tried with the many. */
const SIZES = [1_500, 12_000, 96_000]
/**
 * A read that takes longer is long: in milliseconds, and in times of a count of all rows, because of
 * slow machines.
 */
const LONG = 10
const COUNTS = 3
/** The rows of a table that a transaction adds. */
const AT_ONCE = 5_000
/** It takes this many times as long with eight times the rows. */
const GROWTH = 3
/** The fastest counts, since the machine has other work: of so many, or within so many milliseconds. */
const TRIES = 8
const SPENT = 200

type Row = Readonly<Record<string, unknown>>

export const longReads: Rule<World> = {
  code: 'long-read',
  finds: 'a read that takes long once there are many rows, and that every other caller waits for',
  remedy:
    'Add an index or a LIMIT; count only as far as it matters: SELECT count(*) FROM (SELECT 1 FROM … LIMIT 1001). If the read has to go through so many rows, declare it, so that it runs beside the event loop: database.many(sql`…`, { long: true }).',
  async find(world) {
    /** Their own remedies come first. */
    const others = [unboundedLists, ...planRules].map((rule) => rule.find(world))
    const known = new Set((await Promise.all(others)).flat().map(({ where }) => where))
    const reads = readsOf(world).filter(({ route }) => !known.has(route.where))
    const tables = await world.tables.names()
    return reads.length * tables.length === 0 ? [] : measure(world, tables, reads)
  },
}

/** On a copy of the database. */
const measure = ({ storage, people }: World, names: readonly string[], reads: ReturnType<typeof readsOf>) =>
  inTemporaryFolder(undefined, async (folder) => {
    const file = join(folder, 'many.db')
    await storage.copyTo(file)
    const copy = await openStorage({ file, durable: false })
    try {
      const callers = Object.values(people).flatMap(({ id }) => id ?? [])
      const rows = await copy.snapshot(() => readRows(names, callers))
      const found = new Map<string, Found>()
      const times = new Map<Sql, number>()
      for (const size of SIZES) {
        await addCopies(copy, rows, size)
        const long = Math.max(LONG, COUNTS * (await fastest(copy, countOf(rows))))
        for (const { route, query } of reads) {
          if (found.has(route.where)) continue
          // One that fails came from another rule, which tries to inject SQL.
          let took = await fastest(copy, query).catch(() => 0)
          const before = times.get(query)
          const isSlow = () => took > long && took > GROWTH * (before ?? 0)
          // The machine may have been busy with something else.
          if (isSlow()) took = Math.min(took, await fastest(copy, query))
          const why = `it takes ${shown(took)} with ${size} rows${shownBefore(before)}: ${textOf(query)}`
          if (isSlow()) found.set(route.where, { where: route.where, why })
          times.set(query, took)
        }
      }
      return [...found.values()]
    } finally {
      await copy.close()
    }
  })

const shown = (milliseconds: number) => `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`
const shownBefore = (took: number | undefined) =>
  took === undefined ? '' : `, and ${shown(took)} with an eighth of them`
const textOf = ({ strings }: Sql) => strings.join('?').replace(/\s+/g, ' ').trim().slice(0, 160)

async function fastest(database: Database, query: Sql): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  const until = performance.now() + SPENT
  for (let tries = 0; tries < TRIES && performance.now() < until; tries += 1) {
    const begun = performance.now()
    await database.many(query)
    best = Math.min(best, performance.now() - begun)
  }
  return best
}

interface Copied {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
  /** The columns of each key: at least one is another in a copy. */
  readonly keys: readonly (readonly string[])[]
  /** By column, the callers and the rows that have got many rows. */
  readonly owners: ReadonlyMap<string, ReadonlySet<unknown>>
}

interface Rows {
  readonly tables: readonly Copied[]
  /** What copies have ids of their own instead of: callers and rows. */
  readonly ids: ReadonlySet<unknown>
  /** How many copies of each row there are. */
  copies: number
}

function* readRows(names: readonly string[], callers: readonly string[]): Transaction<Rows> {
  const tables: Copied[] = []
  const ids = new Set<unknown>(callers)
  for (const table of names) {
    const rows = yield* many<Row>(sql`SELECT * FROM ${identifier(table)}`)
    const keys = yield* keysOf(table)
    const columns = Object.keys(rows[0] ?? {})
    const owners = new Map(columns.map((name) => [name, repeated(rows, name)]))
    tables.push({ table, columns, rows, keys, owners })
    for (const [name = '', ...more] of keys)
      if (more.length === 0) for (const row of rows) if (typeof row[name] === 'string') ids.add(row[name])
  }
  return { tables, ids, copies: 0 }
}

/** Counts the largest table. */
function countOf({ tables }: Rows): Sql {
  const [largest] = tables.toSorted((one, other) => other.rows.length - one.rows.length)
  return sql`SELECT count(*) FROM ${identifier(largest?.table ?? '')}`
}

/**
 * Until the largest table has so many rows. A copy belongs to copies of callers and rows, but to the
 * same one if that has got many in the check: its module sets no limit.
 */
async function addCopies(database: Database, rows: Rows, size: number): Promise<void> {
  const most = Math.max(1, ...rows.tables.map(({ rows }) => rows.length))
  const wanted = Math.ceil(size / most)
  while (rows.copies < wanted) {
    const last = Math.min(wanted, rows.copies + Math.ceil(AT_ONCE / most))
    await database.transaction(function* () {
      for (let copy = rows.copies + 1; copy <= last; copy += 1)
        for (const one of rows.tables) yield* insert(one, copy, rows.ids)
    })
    rows.copies = last
  }
}

/** The values that many rows have. */
function repeated(rows: readonly Row[], name: string): Set<unknown> {
  const groups = Map.groupBy(rows, (row) => row[name])
  return new Set([...groups].filter(([, { length }]) => length >= GROWN).map(([value]) => value))
}

function* insert(
  { table, columns, rows, keys, owners }: Copied,
  copy: number,
  ids: ReadonlySet<unknown>,
): Transaction<void> {
  const textOf = (name: string) => identifier(name).strings.join('')
  const first = `INSERT OR IGNORE INTO ${textOf(table)} (${columns.map(textOf)}) VALUES (`
  const strings = [first, ...columns.slice(1).fill(', '), ')']
  for (const row of rows) {
    const values = { ...row }
    for (const name of columns) {
      const value = row[name]
      if (ids.has(value) && !owners.get(name)?.has(value)) values[name] = `${value}~${copy}`
    }
    for (const key of keys) {
      if (key.some((name) => values[name] !== row[name])) continue
      const name = key.find((one) => !owners.get(one)?.has(row[one])) ?? key.at(-1)
      const value = name && row[name]
      if (typeof value === 'number') values[name as string] = value + copy * 1_000_000
      else if (typeof value === 'string') values[name as string] = `${value}~${copy}`
    }
    yield* run(new Sql(strings, Object.values(values) as SqlValue[]))
  }
}

/** The columns of the primary key, of each unique index and of each foreign key. */
function* keysOf(table: string): Transaction<string[][]> {
  const rows = yield* many<{ key: string; name: string | null }>(sql`
    SELECT '' AS "key", name FROM pragma_table_info(${table}) WHERE pk > 0
    UNION ALL
    SELECT list.name, column.name FROM pragma_index_list(${table}) AS list, pragma_index_info(list.name) AS column
    WHERE list."unique"
    UNION ALL
    SELECT 'to ' || id, "from" FROM pragma_foreign_key_list(${table})`)
  const keys = Map.groupBy(rows, ({ key }) => key)
  return [...keys.values()].map((key) => key.flatMap(({ name }) => name ?? []))
}
