import { deepStrictEqual } from 'node:assert/strict'
import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

/** A migration of a module, and what undoes it; `n` makes its names its own. */
const kinds = {
  table: (m: string, n: number) => [
    `CREATE TABLE ${m}_t${n} (id INTEGER PRIMARY KEY, v TEXT)`,
    `DROP TABLE ${m}_t${n}`,
  ],
  column: (m: string, n: number) => [
    `ALTER TABLE ${m} ADD COLUMN c${n} TEXT`,
    `ALTER TABLE ${m} DROP COLUMN c${n}`,
  ],
  index: (m: string, n: number) => [`CREATE INDEX ${m}_i${n} ON ${m} (v)`, `DROP INDEX ${m}_i${n}`],
  view: (m: string, n: number) => [`CREATE VIEW ${m}_v${n} AS SELECT id FROM ${m}`, `DROP VIEW ${m}_v${n}`],
  trigger: (m: string, n: number) => [
    `CREATE TRIGGER ${m}_g${n} AFTER UPDATE ON ${m} BEGIN SELECT 1; END`,
    `DROP TRIGGER ${m}_g${n}`,
  ],
  rows: (m: string, n: number) => [
    `INSERT INTO ${m} (id, v) VALUES (${1000 + n}, 'x')`,
    `DELETE FROM ${m} WHERE id = ${1000 + n}`,
  ],
  rebuild: (m: string, _n: number) => {
    const rebuilt = `CREATE TABLE ${m}_new AS SELECT * FROM ${m}_base; DROP TABLE ${m}_base; ALTER TABLE ${m}_new RENAME TO ${m}_base`
    return [rebuilt, rebuilt]
  },
} as const
const modules = ['a', 'b'] as const
const step = fc.record({
  module: fc.constantFrom(...modules),
  kind: fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])),
})

t.test('undoing what was applied gives the schema and the rows from before', async (t) => {
  const { directory, write } = await temporaryMigrations(t)
  let database = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 8 }),
      fc.array(step, { minLength: 1, maxLength: 8 }),
      async (first, second) => {
        const file = join(directory, `${++database}.db`)
        const storage = await openStorage({ file, onFatal: (error) => t.fail(error.message) })
        const files: Record<string, Record<string, string>> = { a: {}, b: {} }
        const counts: Record<string, number> = { a: 0, b: 0 }
        const add = (module: string, up: string, down: string) => {
          const number = (counts[module] ?? 0) + 1
          counts[module] = number
          const name = `${String(number).padStart(3, '0')}-m`
          Object.assign(files[module] as object, { [`${name}.sql`]: up, [`${name}.down.sql`]: down })
          return { module, name }
        }
        const apply = (module: string) =>
          storage.migrate([write(module, files[module] as object as Record<string, string>)])
        try {
          for (const m of modules) {
            add(
              m,
              `CREATE TABLE ${m} (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE ${m}_base (k)`,
              'SELECT 1',
            )
            await apply(m)
            await storage.transaction(() =>
              run(m === 'a' ? sql`INSERT INTO a VALUES (1, 'x')` : sql`INSERT INTO b VALUES (2, 'y')`),
            )
          }
          const play = async (steps: readonly (typeof first)[number][]) => {
            const applied = []
            for (const { module, kind } of steps) {
              const [up, down] = kinds[kind](module, counts[module] as number)
              applied.push(add(module, up as string, down as string))
              await apply(module)
            }
            return applied
          }
          await play(first)
          const before = contentOf(file)
          const applied = await play(second)
          await storage.undo([...applied].sort((one, other) => one.name.localeCompare(other.name)))
          deepStrictEqual(contentOf(file), before)
        } finally {
          await storage.close()
        }
      },
    ),
    { numRuns: fc.readConfigureGlobal().numRuns ?? 3 },
  )
})

/** Everything in it but when migrations were applied. A rebuilt or widened table may be spelled differently. */
function contentOf(file: string): unknown {
  const database = new SqliteDatabase(file, { readonly: true })
  try {
    const schema = database
      .prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name')
      .all() as {
      type: string
      name: string
      sql: string | null
    }[]
    const rows = schema
      .filter(({ type }) => type === 'table')
      .map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all().map(undated)])
    return { schema: schema.map((object) => ({ ...object, sql: object.sql?.replace(/["\s]/g, '') })), rows }
  } finally {
    database.close()
  }
}

function undated(row: unknown): unknown {
  const { applied_at: _when, ...rest } = row as Record<string, unknown>
  return rest
}
