import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { withMove } from '../../src/postgres/move.ts'
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
  const options = { file, url: target.url, sets, source: 'shop' }
  const open = async () => {
    const opened = await openStorage({ url: target.url, onFatal: t.fail })
    t.teardown(() => opened.close())
    return opened
  }
  return { ...migrations, ...target, sets, file, change, options, open }
}

t.test('writes during the move are copied, and every row is compared', { skip }, async (t) => {
  const { storage, change, options, open, execute } = await shop(t)
  const seen = await withMove(options, async (move) => {
    const first = await move.pass()
    change(`UPDATE shop SET name = 'renamed', raw = x'00ff' WHERE id = 12; DELETE FROM shop_line WHERE name = '～';
      UPDATE shop SET name = 'B' || id WHERE id = 5; INSERT INTO shop (id, name) VALUES (4, 'B'); DELETE FROM shop_log WHERE rowid = 1`)
    await t.rejects(open(), { name: 'StorageUnreachableError', message: /has not finished/ })
    const last = await move.verify()
    await move.finish()
    return { first, last }
  })
  t.match(seen.first, [
    // The row that the migration makes is gone again.
    { table: 'shop', rows: 4, mended: 5 },
    { table: 'shop_line', rows: 6, mended: 6 },
    { table: 'shop_log', rows: 4, mended: 4 },
  ])
  t.match(seen.last, [
    { table: 'shop', rows: 5, mended: 0 },
    { table: 'shop_line', rows: 5, mended: 0 },
    { table: 'shop_log', rows: 3, mended: 0 },
  ])
  for (const { checksum } of seen.last) t.equal(checksum.source, checksum.target)
  t.not(seen.first[0]?.checksum.source, seen.last[0]?.checksum.source)
  const moved = await open()
  t.strictSame(await contentOf(moved), await contentOf(storage))
  t.strictSame((await moved.schema()).ledger, (await storage.schema()).ledger)
  const { rows } = await execute(`SELECT to_regclass('mortise_move') IS NULL AS settled,
    nextval(pg_get_serial_sequence('shop', 'id'))::int AS next`)
  t.strictSame(rows[0], { settled: true, next: 13 })
  await t.rejects(
    moved.transaction(() => run(sql`INSERT INTO shop_line VALUES ('x', 1, 999)`)),
    { name: 'DatabaseError', kind: 'foreign-key' },
    'keys and triggers are back',
  )
  await t.rejects(
    withMove(options, async () => {}),
    { name: 'MigrationError', message: /in use: it has tables/ },
  )
})

t.test(
  'an attempt that ended anywhere is gone on with, unless the schema has changed',
  { skip },
  async (t) => {
    const { storage, change, options, write, sets, open, execute } = await shop(t)
    const end = new Error('ended')
    const endAfter = (steps: readonly ('pass' | 'verify' | 'finish')[]) =>
      t.rejects(
        withMove(options, async (move) => {
          for (const step of steps) await move[step]()
          throw end
        }),
        end,
      )
    await endAfter([])
    await endAfter(['pass'])
    change(`INSERT INTO shop (id, name) VALUES (99, 'later')`)
    await withMove(options, async (move) => t.equal((await move.pass())[0]?.mended, 1, 'the rest is there'))
    await endAfter(['verify', 'finish'])
    change(`DELETE FROM shop WHERE id = 99`)
    await t.rejects(
      withMove({ ...options, source: 'other' }, async () => {}),
      { message: /another application/ },
    )
    await endAfter(['pass'])
    await t.rejects(open(), { message: /has not finished/ })

    const more = write('more', { '001-more.sql': 'CREATE TABLE more (id BIGINT PRIMARY KEY)' })
    await storage.migrate([more])
    await withMove({ ...options, sets: [...sets, more] }, async (move) => {
      t.match(await move.verify(), [{ table: 'more' }, { rows: 4 }, { rows: 6 }, { rows: 4 }])
      await move.finish()
      await move.settle()
    })
    t.strictSame(await contentOf(await open()), await contentOf(storage))
    t.equal((await execute('SELECT count(*)::int AS count FROM shop')).rows[0].count, 4)
  },
)

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
  const { change, options, storage, write, sets } = await shop(t)
  for (const [text, message] of cases) {
    change(text)
    await t.rejects(
      withMove(options, (move) => move.pass()),
      { name: 'MigrationError', message },
    )
    change('DELETE FROM shop WHERE id = 50')
  }
  const odd = write('odd', {
    '001-odd.sqlite.sql': 'CREATE TABLE odd (id TEXT PRIMARY KEY); CREATE TABLE odd_own (id TEXT)',
    '001-odd.postgres.sql': 'CREATE TABLE odd (id CHAR(5) PRIMARY KEY)',
  })
  await storage.migrate([odd])
  await t.rejects(
    withMove(options, async () => {}),
    { message: /PostgreSQL form of 001-odd of odd is unknown/ },
  )
  const both = { ...options, sets: [...sets, odd] }
  change(`INSERT INTO odd_own VALUES ('a')`)
  await t.rejects(
    withMove(both, async () => {}),
    { message: /"odd_own" has rows, and PostgreSQL has no such table/ },
  )
  change(`DELETE FROM odd_own; INSERT INTO odd VALUES ('ab')`)
  await t.rejects(
    withMove(both, (move) => move.verify()),
    { message: /"odd" with id "ab.* differs after/ },
  )
  change(`DELETE FROM odd; INSERT INTO shop_line VALUES ('orphan', 1, 999)`)
  await t.rejects(
    withMove(both, async (move) => {
      await move.verify()
      await move.finish()
    }),
    { name: 'DatabaseError', kind: 'foreign-key' },
  )
})

t.test('unique values move between rows far apart', { skip }, async (t) => {
  const { storage, change, options, open } = await shop(t)
  change(`INSERT INTO shop (id, name)
    WITH RECURSIVE n (id) AS (SELECT 100 UNION ALL SELECT id + 1 FROM n WHERE id < 12000) SELECT id, 'n' || id FROM n`)
  await withMove(options, async (move) => {
    await move.pass()
    change(`DELETE FROM shop WHERE id = 12000; UPDATE shop SET name = 'n12000' WHERE id = 100;
      UPDATE shop SET small = 2 WHERE id BETWEEN 101 AND 9000`)
    await move.verify()
    await move.finish()
  })
  t.strictSame(await contentOf(await open()), await contentOf(storage))
})
