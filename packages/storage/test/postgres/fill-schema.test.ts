import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { type FillOptions, fillSchema } from '../../src/postgres/fill-schema.ts'
import { temporarySchema } from '../engines.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'
import { contentOf, ROWS, shopSet } from './shop.ts'

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

/** A shop in a SQLite file that a host serves from, and a schema that it can move to. */
async function shop(t: Test) {
  const migrations = await temporaryMigrations(t)
  const { storage, write, directory } = migrations
  const sets = shopSet(write)
  await storage.migrate(sets)
  const file = join(directory, 'app.db')
  const change = (text: string) => {
    const database = new SqliteDatabase(file)
    database.pragma('foreign_keys = OFF')
    database.exec(text)
    database.close()
  }
  change(ROWS)
  const target = await temporarySchema(t)
  const given = { file, url: target.url, sets, owner: 'shop', kept: [], begin: async () => {}, onRows() {} }
  const fill = (others: Partial<FillOptions> = {}) => fillSchema({ ...given, ...others })
  const open = async () => {
    const opened = await openStorage({ url: target.url, onFatal: t.fail })
    t.teardown(() => opened.close())
    return opened
  }
  const isThere = async () => {
    const found = await target.execute(`SELECT FROM pg_namespace WHERE nspname = '${target.schema}'`)
    return found.rows.length > 0
  }
  return { ...migrations, ...target, sets, file, change, fill, open, isThere }
}

t.test('a schema gets every row as of the beginning, and is a database', { skip }, async (t) => {
  const { storage, change, fill, open, execute, isThere } = await shop(t)
  let copied = 0
  const tables = await fill({
    async begin() {
      change(`UPDATE shop SET raw = x'00ff' WHERE id = 12; INSERT INTO shop (id, name) VALUES (4, 'C')`)
      t.notOk(await isThere(), 'until all is there')
    },
    onRows(count) {
      copied += count
    },
  })
  t.strictSame(tables, [
    { table: 'shop', rows: 5 },
    { table: 'shop_change', rows: null },
    { table: 'shop_line', rows: 6 },
    { table: 'shop_log', rows: 4 },
  ])
  t.equal(copied, 15)
  const moved = await open()
  t.strictSame(await contentOf(moved), await contentOf(storage))
  t.strictSame((await moved.schema()).ledger, (await storage.schema()).ledger)
  const { rows } = await execute(`SELECT nextval(pg_get_serial_sequence('shop', 'id'))::int AS next`)
  t.strictSame(rows[0], { next: 13 })
  await t.rejects(
    moved.transaction(() => run(sql`INSERT INTO shop_line VALUES ('x', 1, 999)`)),
    { name: 'DatabaseError', kind: 'foreign-key' },
    'keys and triggers are back',
  )
})

t.test('an attempt that ends anywhere leaves nothing', { skip }, async (t) => {
  const { fill, isThere, open, storage } = await shop(t)
  const end = new Error('ended')
  const stop = () => {
    throw end
  }
  await t.rejects(fill({ begin: stop }), end)
  await t.rejects(fill({ onRows: stop }), end)
  t.notOk(await isThere())
  await fill()
  t.strictSame(await contentOf(await open()), await contentOf(storage))
})

t.test('what nobody has used is replaced, by the same application only', { skip }, async (t) => {
  const { change, fill, open, storage, execute, schema } = await shop(t)
  await execute(`CREATE SCHEMA ${schema}; CREATE TABLE theirs (id TEXT)`)
  await t.rejects(fill(), { name: 'MigrationError', message: /in use: it has tables/ })
  await execute('DROP TABLE theirs')
  await fill()
  change(`INSERT INTO shop (id, name) VALUES (99, 'later')`)
  const kept = ['missing', 'shop_change']
  await t.rejects(fill({ kept, owner: "other's" }), { message: /the unfinished move of another application/ })
  await fill({ kept })
  t.strictSame(await contentOf(await open()), await contentOf(storage))
  await execute(`INSERT INTO shop_change VALUES ('used', 1)`)
  await t.rejects(fill({ kept }), { message: /in use: it has tables/ })
  await t.rejects(fill({ kept, owner: 'other' }), { message: /in use: it has tables/ })
})

t.test('an error names what PostgreSQL cannot store', { skip }, async (t) => {
  const cases: [text: string, message: RegExp][] = [
    [
      `INSERT INTO shop (id, name, small) VALUES (50, 'x', 3000000000)`,
      /id "50" .* column "small" "3000000000"/,
    ],
    [`INSERT INTO shop (id, name, large) VALUES (50, 'x', 'many')`, /column "large" "many"/],
    [`INSERT INTO shop (id, name, share) VALUES (50, 'x', 'half')`, /column "share" "half"/],
    [`INSERT INTO shop (id, name, data) VALUES (50, 'x', x'00')`, /column "data" a blob/],
    [`INSERT INTO shop (id, name, data) VALUES (50, 'x', 'a' || char(0))`, /column "data" a NUL/],
  ]
  const { change, fill, storage, write, sets, isThere } = await shop(t)
  for (const [text, message] of cases) {
    change(text)
    await t.rejects(fill(), { name: 'MigrationError', message })
    change('DELETE FROM shop WHERE id = 50')
  }
  const odd = write('odd', {
    '001-odd.sqlite.sql': 'CREATE TABLE odd (id TEXT PRIMARY KEY); CREATE TABLE odd_own (id TEXT)',
    '001-odd.postgres.sql': 'CREATE TABLE odd (id CHAR(5) PRIMARY KEY)',
  })
  await storage.migrate([odd])
  await t.rejects(fill(), { message: /PostgreSQL form of 001-odd of odd is unknown/ })
  const both = { sets: [...sets, odd] }
  change(`INSERT INTO odd_own VALUES ('a')`)
  await t.rejects(fill(both), { message: /"odd_own" has rows, and PostgreSQL has no such table/ })
  change(`DELETE FROM odd_own; INSERT INTO odd VALUES ('long enough')`)
  await t.rejects(fill(both), { message: /refuses a row of "odd" between id "long enough".* too long/ })
  change(`DELETE FROM odd; INSERT INTO odd VALUES ('ab')`)
  await t.rejects(fill(both), { message: /"odd" with id "ab.* differs after/ })
  change(`DELETE FROM odd; INSERT INTO shop_line VALUES ('orphan', 1, 999)`)
  await t.rejects(fill(both), { name: 'DatabaseError', kind: 'foreign-key' })
  t.notOk(await isThere())
})

t.test('many and large rows come in several batches', { skip }, async (t) => {
  const { storage, change, fill, open } = await shop(t)
  change(`INSERT INTO shop (id, name)
    WITH RECURSIVE n (id) AS (SELECT 100 UNION ALL SELECT id + 1 FROM n WHERE id < 12000) SELECT id, 'n' || id FROM n;
    UPDATE shop SET data = printf('%.*c', 9000000, 'x') WHERE id IN (200, 300, 400)`)
  const batches: number[] = []
  await fill({ onRows: (count) => void batches.push(count) })
  t.ok(batches.length >= 6, `batches of ${batches.join(', ')} rows`)
  t.strictSame(await contentOf(await open()), await contentOf(storage))
})
