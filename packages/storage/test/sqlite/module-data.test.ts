import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { extractModule } from '../../src/sqlite/extract-module.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

const CART = {
  '001-cart.sql': `
    CREATE TABLE cart (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, upper TEXT AS (upper(name)) STORED);
    CREATE TABLE cart_line (cart INTEGER REFERENCES cart (id) ON DELETE CASCADE, at INTEGER, PRIMARY KEY (cart, at)) WITHOUT ROWID;
    CREATE TABLE cart_log (what TEXT);
    CREATE INDEX cart_by_name ON cart (name);
    CREATE VIEW cart_names AS SELECT name FROM cart;
    CREATE TRIGGER cart_views INSTEAD OF INSERT ON cart_names BEGIN SELECT 1; END;
    CREATE TRIGGER cart_logs AFTER INSERT ON cart BEGIN INSERT INTO cart_log VALUES (new.name); END;
    CREATE VIRTUAL TABLE cart_text USING fts5 (body);`,
  '001-cart.down.sql': 'DROP TABLE cart',
}
const OTHER = {
  '001-other.sql': `CREATE TABLE other (secret TEXT); INSERT INTO other VALUES ('the others confide this');
    CREATE TABLE carton (id); CREATE VIEW other_view AS SELECT * FROM other;`,
}
const TABLES = ['cart', 'cart_line', 'cart_log', 'cart_text']

async function cartAndOther(t: Test) {
  const migrations = await temporaryMigrations(t)
  const { storage, write, directory } = migrations
  const sets = [write('cart', CART), { ...write('other', OTHER) }]
  await storage.migrate([sets[0] as (typeof sets)[0]])
  await storage.migrate([
    write('other', { '001-other.sql': OTHER['001-other.sql'].replace('CREATE TABLE carton (id);', '') }),
    write('carton', { '001-carton.sql': 'CREATE TABLE carton (id)' }),
  ])
  await storage.transaction(function* () {
    yield* run(sql`INSERT INTO cart (name) VALUES ('a'), ('b'), ('c')`)
    yield* run(sql`DELETE FROM cart WHERE name = 'c'`)
    yield* run(sql`DELETE FROM cart_log WHERE what = 'a'`)
    yield* run(sql`INSERT INTO cart_line VALUES (1, 1), (2, 1)`)
    yield* run(sql`INSERT INTO cart_text (rowid, body) VALUES (7, 'hello world')`)
  })
  const archive = join(directory, 'archive.db')
  const extract = async () => {
    await storage.copyTo(`${archive}.copy`)
    return extractModule(`${archive}.copy`, 'cart', archive)
  }
  return { ...migrations, archive, extract, content: () => contentOf(join(directory, 'app.db')) }
}

function contentOf(file: string): Record<string, unknown> {
  const database = new SqliteDatabase(file, { readonly: true })
  try {
    const schema = database
      .prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name')
      .all()
    const tables = database
      .prepare(
        `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND name <> 'sqlite_schema' ORDER BY name`,
      )
      .all() as { name: string; wr: number }[]
    const rows = tables.map(({ name, wr }) => [
      name,
      // The ledger's own numbers say no more than its order.
      database
        .prepare(
          `SELECT ${wr || name === 'mortise_migration' ? '' : 'rowid AS "#", '}* FROM "${name}"${name === 'mortise_migration' ? ' ORDER BY module, name' : ''}`,
        )
        .all(),
    ])
    return { schema, rows: Object.fromEntries(rows) }
  } finally {
    database.close()
  }
}

t.test('a purge and a restore keep tables, rows and ledger rows', async (t) => {
  const { storage, archive, extract, content, objects } = await cartAndOther(t)
  const before = content()
  t.strictSame(await extract(), { module: 'cart', tables: TABLES })
  t.strictSame(await storage.purge('cart'), { module: 'cart', tables: TABLES })
  t.strictSame(await objects(), ['carton', 'other', 'other_view'])
  t.strictSame(
    (await storage.applied()).map(({ module }) => module),
    ['other', 'carton'],
  )
  t.strictSame(await storage.purge('cart'), { module: 'cart', tables: [] }, 'purging again is nothing to do')

  t.strictSame(await storage.restoreModule(archive), { module: 'cart', tables: TABLES })
  t.strictSame(content(), before)
  t.strictSame(await storage.many(sql`SELECT body FROM cart_text WHERE cart_text MATCH 'hello'`), [
    { body: 'hello world' },
  ])
  t.strictSame(await storage.restoreModule(archive), { module: 'cart', tables: [] }, 'so is bringing back')
  await storage.transaction(() => run(sql`INSERT INTO cart (name) VALUES ('d')`))
  t.strictSame(await storage.many(sql`SELECT id FROM cart WHERE name = 'd'`), [{ id: 4 }], 'it counts on')
})

t.test('an archive has no data of other modules', async (t) => {
  const { archive, extract } = await cartAndOther(t)
  await extract()
  const database = new SqliteDatabase(archive, { readonly: true })
  t.strictSame(database.prepare('SELECT module FROM mortise_migration').pluck().all(), ['cart'])
  t.strictSame(
    database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'o%'`).all(),
    [],
  )
  database.close()
  t.notOk(readFileSync(archive).includes('confide'))
  t.equal(statSync(archive).mode & 0o777, 0o600)
})

t.test('a module without data has an empty archive', async (t) => {
  const { storage, archive } = await cartAndOther(t)
  await storage.copyTo(`${archive}.copy`)
  t.equal(extractModule(`${archive}.copy`, 'nobody', archive), undefined)
})

t.test('tables that others need, and tables of the host, are not purged', async (t) => {
  const { storage, write, content } = await cartAndOther(t)
  await storage.migrate([
    write('bill', { '001-bill.sql': 'CREATE TABLE bill (cart INTEGER REFERENCES Cart (id))' }),
  ])
  await storage.migrate([
    { ...write('host', { '001-guest.sql': 'CREATE TABLE mortise_x (a)' }), tables: 'mortise' },
  ])
  await storage.migrate([
    { ...write('other-two', { '001-a.sql': 'CREATE TABLE other_two (a)' }), tables: 'other_two' },
  ])
  const before = content()
  for (const [module, message] of [
    ['cart', /"bill" refers to "Cart"/],
    ['host', /belong to the host/],
    ['other', /overlap with the tables of other-two/],
    ['other-two', /overlap with the tables of other/],
  ] as const) {
    await t.rejects(storage.purge(module), { name: 'MigrationError', message })
  }
  t.strictSame(content(), before)
})

t.test('a restore refuses conflicting objects, and changes nothing', async (t) => {
  const { storage, archive, extract, write, content } = await cartAndOther(t)
  await extract()
  await storage.purge('cart')
  await storage.migrate([write('cart', { '001-cart.sql': 'CREATE TABLE cart (x)' })])
  const before = content()
  await t.rejects(storage.restoreModule(archive), {
    name: 'MigrationError',
    message: /its migration 001-cart is applied/,
  })
  t.strictSame(content(), before)
  await storage.purge('cart')

  const database = new SqliteDatabase(join(archive, '..', 'app.db'))
  t.teardown(() => database.close())
  database.exec('CREATE TABLE cart_stray (a)')
  await t.rejects(storage.restoreModule(archive), {
    name: 'MigrationError',
    message: /the table "cart_stray" exists/,
  })
  database.exec('DROP TABLE cart_stray')
  t.equal((await storage.restoreModule(archive)).tables.length, 4)
})

t.test('an archive with foreign objects is refused', async (t) => {
  const { storage, archive, extract, content } = await cartAndOther(t)
  await extract()
  await storage.purge('cart')
  const before = content()
  await extractAgain(archive, 'CREATE TABLE spy (a)')
  await storage.restoreModule(`${archive}.bad`)
  t.strictSame(await storage.many(sql`SELECT 1 FROM sqlite_schema WHERE name = 'spy'`), [], 'it is left out')
  await storage.purge('cart')
  for (const [text, message] of [
    [
      'CREATE TABLE other (secret TEXT); CREATE TRIGGER cart_spy AFTER INSERT ON other BEGIN SELECT 1; END',
      /makes the trigger "cart_spy" on "other"/,
    ],
    [`UPDATE mortise_migration SET tables = 'mortise'`, /belong to the host/],
    [
      `INSERT INTO mortise_migration SELECT 'b', name, checksum, down, applied_at, tables FROM mortise_migration`,
      /of one module/,
    ],
    ['DROP TABLE mortise_migration', /cannot read the ledger/],
  ] as const) {
    await extractAgain(archive, text)
    await t.rejects(storage.restoreModule(`${archive}.bad`), { name: 'MigrationError', message }, text)
    t.strictSame(content(), before)
  }
})

async function extractAgain(archive: string, change: string): Promise<void> {
  const database = new SqliteDatabase(archive)
  await database.backup(`${archive}.bad`)
  database.close()
  const bad = new SqliteDatabase(`${archive}.bad`)
  bad.exec(change)
  bad.close()
}
