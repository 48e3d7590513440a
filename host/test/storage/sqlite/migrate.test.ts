import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import { temporaryMigrations } from '../temporary-migrations.ts'

const CART = {
  '001-cart.sql': 'CREATE TABLE cart (id TEXT PRIMARY KEY); CREATE INDEX cart_by_id ON cart (id);',
  '001-cart.down.sql': 'DROP TABLE cart',
}

t.test('applies what is pending, once, and remembers how to undo it', async (t) => {
  const { storage, write, objects } = await temporaryMigrations(t)
  const cart = write('cart', CART)
  const purchase = write('purchase', { '001-purchase.sql': 'CREATE TABLE purchase (id TEXT)' })
  const both = [
    { module: 'cart', name: '001-cart' },
    { module: 'purchase', name: '001-purchase' },
  ]
  t.strictSame(await storage.pending([cart, purchase]), both)
  t.strictSame(await objects(), [])
  t.strictSame(await storage.migrate([cart, purchase]), both)
  t.strictSame(await objects(), ['cart', 'cart_by_id', 'purchase'])
  t.strictSame(await storage.pending([cart, purchase]), [])
  t.strictSame(await storage.migrate([cart, purchase]), [])
  const ledger = await storage.many(
    sql`SELECT module, name, down, applied_at > 0 AS dated FROM mortise_migration`,
  )
  t.strictSame(ledger, [
    { module: 'cart', name: '001-cart', down: 'DROP TABLE cart', dated: 1 },
    { module: 'purchase', name: '001-purchase', down: null, dated: 1 },
  ])

  const more = write('cart', {
    ...CART,
    '002-note.sql': `ALTER TABLE cart ADD COLUMN note TEXT`,
  })
  t.strictSame(await storage.migrate([more]), [{ module: 'cart', name: '002-note' }])
})

t.test('statements prepared before a migration see the schema after it', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  await storage.migrate([write('cart', CART)])
  const all = () => storage.many(sql`SELECT * FROM cart`)
  const insert = () => storage.transaction(() => run(sql`INSERT INTO cart (id) VALUES (${'a'})`))
  await insert()
  t.strictSame(await all(), [{ id: 'a' }])
  const note = `ALTER TABLE cart ADD COLUMN note TEXT DEFAULT 'n'`
  await storage.migrate([write('cart', { ...CART, '002-note.sql': note })])
  t.strictSame(await all(), [{ id: 'a', note: 'n' }])
  await t.rejects(insert(), { name: 'DatabaseError', kind: 'unique' })
})

t.test('one that fails takes the whole call back, and says which and why', async (t) => {
  const { storage, write, objects } = await temporaryMigrations(t)
  const cart = write('cart', CART)
  const cases: [string, RegExp][] = [
    [
      'CREATE TABLE purchase (a); CREATE TABLE nonsense (',
      /001-a\.sql of purchase failed: .*incomplete input/,
    ],
    ['CREATE TABLE purchase (a); CREATE TABLE orders (b)', /001-a\.sql of purchase makes the table "orders"/],
    ['CREATE TEMP TABLE purchase_a (b)', /makes the temporary table "purchase_a"/],
    ...[
      'DROP TABLE cart',
      'ALTER TABLE cart RENAME TO purchase_cart',
      'ALTER TABLE cart ADD COLUMN spy',
      'CREATE TRIGGER purchase_spy AFTER INSERT ON cart BEGIN SELECT 1; END',
      'DELETE FROM cart',
      "UPDATE cart SET id = 'mine'",
      'CREATE TABLE purchase (a); INSERT INTO purchase SELECT id FROM cart',
    ].map((text): [string, RegExp] => [text, /no such table: (main\.)?cart\. A migration sees "purchase"/]),
    ['DROP TABLE mortise_migration', /no such table: mortise_migration/],
  ]
  for (const [text, message] of cases) {
    const purchase = write('purchase', { '001-a.sql': `${text}` })
    await t.rejects(storage.migrate([cart, purchase]), { name: 'MigrationError', message }, text)
    t.strictSame(await objects(), [], text)
    t.strictSame((await storage.pending([cart, purchase])).length, 2)
  }
  t.equal((await storage.migrate([cart])).length, 1, 'the connection works on')
})

t.test('a package that differs from what was applied is refused', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  const second = { '002-b.sql': `CREATE TABLE cart_b (c)` }
  await storage.migrate([write('cart', { ...CART, ...second })])
  const changed = write('cart', { ...CART, '002-b.sql': `CREATE TABLE cart_b (d)` })
  const refusal = {
    name: 'MigrationError',
    message: /002-b\.sql of cart is not what was applied.*never changes/,
  }
  await t.rejects(storage.migrate([changed]), refusal)
  await t.rejects(storage.pending([changed]), refusal)
  const renamed = write('cart', { '001-basket.sql': 'SELECT 1', ...second })
  await t.rejects(storage.migrate([renamed]), {
    name: 'MigrationError',
    message: /001-cart of cart was applied.*no such migration/,
  })
  t.strictSame(await storage.migrate([]), [], 'modules that are not asked about are left alone')
})

t.test('the schema may be ahead of the package: the version before works on it', async (t) => {
  const { storage, write, objects } = await temporaryMigrations(t)
  const older = () => write('cart', CART)
  await storage.migrate([write('cart', { ...CART, '002-b.sql': 'CREATE TABLE cart_b (c)' })])
  t.strictSame(await storage.pending([older()]), [])
  t.strictSame(await storage.migrate([older()]), [])
  t.strictSame(await objects(), ['cart', 'cart_b', 'cart_by_id'])
})

t.test('keys are looked at in the tables of who migrates, not in all', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  const purchase = 'CREATE TABLE purchase (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES purchase (id));'
  await storage.migrate([write('purchase', { '001-purchase.sql': purchase })])
  const orphan = {
    '001-cart.sql': `${purchase.replaceAll('purchase', 'cart')}INSERT INTO cart VALUES (1, 2);`,
  }
  await t.rejects(storage.migrate([write('cart', orphan)]), {
    message: /rows in "cart" whose "cart" is gone/,
  })
  t.strictSame((await storage.migrate([write('cart', CART)])).length, 1)
})

t.test('a table with children can be rebuilt: rows stay, keys hold again afterwards', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  const first = {
    '001-cart.sql': `
      CREATE TABLE cart (id INTEGER PRIMARY KEY);
      CREATE TABLE cart_item (id INTEGER PRIMARY KEY, cart INTEGER NOT NULL REFERENCES cart (id) ON DELETE CASCADE);
      INSERT INTO cart VALUES (1); INSERT INTO cart_item VALUES (7, 1);`,
  }
  await storage.migrate([write('cart', first)])
  const rebuild = `
    CREATE TABLE cart_new (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO cart_new (id) SELECT id FROM cart;
    DROP TABLE cart;
    ALTER TABLE cart_new RENAME TO cart;`
  await storage.migrate([write('cart', { ...first, '002-note.sql': rebuild })])
  t.strictSame(await storage.many(sql`SELECT * FROM cart_item`), [{ id: 7, cart: 1 }])
  await t.rejects(
    storage.transaction(() => run(sql`INSERT INTO cart_item VALUES (8, 2)`)),
    { name: 'DatabaseError', kind: 'foreign-key' },
  )

  const orphans = { ...first, '002-note.sql': rebuild, '003-gone.sql': `DELETE FROM cart` }
  await t.rejects(storage.migrate([write('cart', orphans)]), {
    name: 'MigrationError',
    message: /"cart_item".*"cart"/,
  })
  t.strictSame(await storage.many(sql`SELECT id FROM cart`), [{ id: 1 }])
  await t.rejects(
    storage.transaction(() => run(sql`INSERT INTO cart_item VALUES (8, 2)`)),
    { name: 'DatabaseError', kind: 'foreign-key' },
  )
})

t.test('migrating goes along with transactions under way', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  await storage.migrate([write('cart', CART)])
  const more = write('cart', {
    ...CART,
    '002-note.sql': `ALTER TABLE cart ADD COLUMN note TEXT`,
  })
  const insert = (id: string) => storage.transaction(() => run(sql`INSERT INTO cart (id) VALUES (${id})`))
  const before = insert('a')
  const migrated = storage.migrate([more])
  const after = insert('b')
  t.strictSame(await Promise.all([before, migrated, after]), [1, [{ module: 'cart', name: '002-note' }], 1])
})

t.test('a ledger of host 1.0 is completed, and remembers the prefix from then on', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  const cart = write('cart', CART)
  await storage.migrate([cart])
  const database = new SqliteDatabase(join(t.testdirName, 'app.db'))
  t.teardown(() => database.close())
  database.exec('ALTER TABLE mortise_migration DROP COLUMN tables')
  const applied = [{ module: 'cart', name: '001-cart' }]
  t.strictSame(await storage.applied(), [{ ...applied[0], reversible: true }])
  await t.rejects(storage.undo(applied), { name: 'MigrationError', message: /older host/ })
  t.strictSame(await storage.migrate([cart]), [], 'nothing is applied again')
  await storage.undo(applied)
  t.strictSame(await storage.applied(), [])
})

t.test('a write lock held elsewhere is waited for', async (t) => {
  const { storage, write, objects } = await temporaryMigrations(t)
  const other = new SqliteDatabase(join(t.testdirName, 'app.db'))
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const cart = write('cart', CART)
  const migrated = storage.migrate([cart])
  t.equal((await storage.pending([cart])).length, 1)
  await nextTurn()
  t.strictSame(await objects(), [])
  other.exec('ROLLBACK')
  t.equal((await migrated).length, 1)
})
