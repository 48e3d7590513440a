import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import { openStorage } from '../../src/open-storage.ts'
import { temporarySchema, testOnPostgres } from '../engines.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

const CART = {
  '001-cart.sql': 'CREATE TABLE cart (id TEXT PRIMARY KEY)',
  '001-cart.down.sql': 'DROP TABLE cart',
}

testOnPostgres('what is made beyond the prefix or the schema is refused', async (t, open) => {
  const { storage, write, objects } = await temporaryMigrations(t, open, 'postgres')
  const cases: [string, RegExp][] = [
    ['CREATE TABLE public.cart (a INTEGER)', /makes the table "public\.cart"/],
    ['CREATE SCHEMA cart', /makes the schema "cart"/],
    ['CREATE EXTENSION plpgsql_check', /(makes the extension|failed)/],
    ['CREATE VIEW orders AS SELECT 1 AS one', /makes the view "orders"/],
    ['CREATE SEQUENCE orders', /makes the sequence "orders"/],
    [`CREATE TYPE orders AS ENUM ('a')`, /makes the type "orders"/],
    [
      'CREATE FUNCTION orders() RETURNS INTEGER LANGUAGE sql AS $$ SELECT 1; $$',
      /makes the function \(\) "orders"/,
    ],
    ['CREATE TABLE cart (a INTEGER); CREATE INDEX orders ON cart (a)', /makes the index "orders" on "cart"/],
    ['SET search_path = public', /refused: SET/],
    ['START TRANSACTION', /refused: BEGIN/],
  ]
  for (const [text, message] of cases) {
    const cart = write('cart', { '001-cart.postgres.sql': text, '001-cart.sqlite.sql': '' })
    await t.rejects(storage.migrate([cart]), { name: 'MigrationError', message }, text)
    t.strictSame(await objects(), [], text)
  }
})

testOnPostgres(
  'what belongs to the module may be of any kind, with both engines at once',
  async (t, open) => {
    const { storage, write } = await temporaryMigrations(t, open, 'postgres')
    const cart = write('cart', {
      '001-cart.postgres.sql': `
      CREATE TYPE cart_state AS ENUM ('open', 'done');
      CREATE TABLE cart (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state cart_state);
      CREATE FUNCTION cart_touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.state = 'done'; RETURN NEW; END; $$;
      CREATE TRIGGER cart_touched BEFORE INSERT ON cart FOR EACH ROW EXECUTE FUNCTION cart_touch();`,
      '001-cart.sqlite.sql': 'CREATE TABLE cart (id INTEGER PRIMARY KEY, state TEXT)',
    })
    t.equal((await storage.migrate([cart])).length, 1)
    await storage.transaction(() => run(sql`INSERT INTO cart (state) VALUES ('open')`))
    t.strictSame(await storage.many(sql`SELECT * FROM cart`), [{ id: 1, state: 'done' }])
    await t.rejects(storage.purge('cart'), {
      name: 'MigrationError',
      message: /the type "cart_state" is no table, view or function/,
    })
  },
)

testOnPostgres('a purge drops functions', async (t, open) => {
  const { storage, write, objects } = await temporaryMigrations(t, open, 'postgres')
  const cart = write('cart', {
    '001-cart.postgres.sql': `
      CREATE TABLE cart (id BIGINT PRIMARY KEY);
      CREATE FUNCTION cart_of(first BIGINT, other TEXT) RETURNS BIGINT LANGUAGE sql AS $$ SELECT first $$;
      CREATE FUNCTION cart_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END; $$;
      CREATE TRIGGER cart_noted AFTER INSERT ON cart FOR EACH ROW EXECUTE FUNCTION cart_note();`,
    '001-cart.sqlite.sql': 'CREATE TABLE cart (id BIGINT PRIMARY KEY)',
  })
  const before = await objects()
  await storage.migrate([cart])
  await storage.purge('cart')
  t.strictSame(await objects(), before)
})

testOnPostgres('a set that is for one engine only is refused', async (t, open) => {
  const { storage, write } = await temporaryMigrations(t, open, 'postgres')
  for (const [engine, name] of [
    ['sqlite', 'PostgreSQL'],
    ['postgres', 'SQLite'],
  ]) {
    const cart = write('cart', { [`001-cart.${engine}.sql`]: 'CREATE TABLE cart (a INTEGER)' })
    await t.rejects(storage.migrate([cart]), {
      name: 'MigrationError',
      message: new RegExp(`001-cart of cart has no file for ${name}: add 001-cart\\.`),
    })
  }
})

testOnPostgres('hosts that migrate at once apply everything once', async (t, open) => {
  const { storage, write } = await temporaryMigrations(t, open, 'postgres')
  const others = [await open(), await open()]
  const cart = write('cart', CART)
  const applied = await Promise.all([storage, ...others].map((one) => one.migrate([cart])))
  t.strictSame(applied.flat(), [{ module: 'cart', name: '001-cart' }])
})

testOnPostgres('its schema can be had on SQLite, where nothing is pending then', async (t, open) => {
  const { storage, write, directory } = await temporaryMigrations(t, open, 'postgres')
  const cart = write('cart', {
    ...CART,
    '002-state.postgres.sql': `CREATE TYPE cart_state AS ENUM ('open'); ALTER TABLE cart ADD COLUMN state cart_state`,
    '002-state.sqlite.sql': 'ALTER TABLE cart ADD COLUMN state TEXT',
  })
  await storage.migrate([cart])
  await storage.transaction(() => run(sql`INSERT INTO cart (id) VALUES ('a')`))
  const file = join(directory, 'twin.db')
  const twin = await openStorage({ file, schema: await storage.schema(), onFatal: t.fail })
  t.teardown(() => twin.close())
  t.strictSame(await twin.pending([cart]), [])
  t.strictSame(await twin.many(sql`SELECT id, state FROM cart`), [])
  t.strictSame(await twin.applied(), [
    { module: 'cart', name: '001-cart', reversible: true },
    { module: 'cart', name: '002-state', reversible: false },
  ])
})

testOnPostgres('a module that is purged leaves nothing, unless others need it', async (t, open, url) => {
  const { storage, write, objects } = await temporaryMigrations(t, open, 'postgres')
  const cart = write('cart', {
    '001-cart.sql': `
      CREATE TABLE cart (id TEXT PRIMARY KEY);
      CREATE TABLE cart_item (cart TEXT REFERENCES cart (id));
      CREATE VIEW cart_view AS SELECT id FROM cart;`,
  })
  await storage.migrate([cart, write('other', { '001-other.sql': 'CREATE TABLE other (cart TEXT)' })])
  const schema = new URL(url).searchParams.get('schema')
  const { execute } = await temporarySchema(t)
  await execute(`ALTER TABLE ${schema}.other ADD FOREIGN KEY (cart) REFERENCES ${schema}.cart (id)`)
  await t.rejects(storage.purge('cart'), { name: 'MigrationError', message: /cannot be dropped: .*depend/ })
  t.strictSame(await objects(), ['cart', 'cart_item', 'other'])
  await execute(`ALTER TABLE ${schema}.other DROP CONSTRAINT other_cart_fkey`)
  t.strictSame(await storage.purge('cart'), { module: 'cart', tables: ['cart', 'cart_item'] })
  t.strictSame(await objects(), ['other'])
  t.strictSame(await storage.purge('cart'), { module: 'cart', tables: [] })
  t.strictSame(await storage.applied(), [{ module: 'other', name: '001-other', reversible: false }])
  t.strictSame((await storage.migrate([cart])).length, 1, 'and can come back')
})

testOnPostgres('writes are held back on SQLite only', async (t, open) => {
  const storage = await open()
  await t.rejects(storage.hold('the data move'), { name: 'EngineError', message: /SQLite/ })
})

testOnPostgres('a host that is stopped while it migrates keeps others out for 30 s', async (t, open) => {
  const { storage, write } = await temporaryMigrations(t, open, 'postgres')
  const setting = `SELECT current_setting('idle_in_transaction_session_timeout') AS idle`
  await storage.migrate([
    write('cart', {
      '001-cart.postgres.sql': `CREATE TABLE cart AS ${setting}`,
      '001-cart.sqlite.sql': 'CREATE TABLE cart (idle TEXT)',
    }),
  ])
  t.same(await storage.many(sql`SELECT idle FROM cart`), [{ idle: '30s' }])
})
