import { run, sql } from '@mortise/module-sdk'
import { testOnEngines } from './engines.ts'
import { temporaryMigrations } from './temporary-migrations.ts'

const CART = {
  '001-cart.sql': 'CREATE TABLE cart (id TEXT PRIMARY KEY); CREATE INDEX cart_by_id ON cart (id);',
  '001-cart.down.sql': 'DROP TABLE cart',
}

testOnEngines('applies what is pending, once, and remembers how to undo it', async (t, open, engine) => {
  const { storage, write, objects } = await temporaryMigrations(t, open, engine)
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

testOnEngines('statements prepared before a migration see the schema after it', async (t, open, engine) => {
  const { storage, write } = await temporaryMigrations(t, open, engine)
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

testOnEngines('a failed down migration undoes the whole call and names itself', async (t, open, engine) => {
  const { storage, write, objects } = await temporaryMigrations(t, open, engine)
  const cart = write('cart', CART)
  const cases: [string, RegExp][] = [
    [
      'CREATE TABLE purchase (a INTEGER); CREATE TABLE nonsense (',
      /001-a\.sql of purchase failed: .*(incomplete input|end of input)/,
    ],
    [
      'CREATE TABLE purchase (a INTEGER); CREATE TABLE orders (b INTEGER)',
      /001-a\.sql of purchase makes the table "orders"/,
    ],
    ['CREATE TEMP TABLE purchase_a (b INTEGER)', /makes the temporary table "purchase_a"/],
    ...[
      'DROP TABLE cart',
      'ALTER TABLE cart RENAME TO purchase_cart',
      'ALTER TABLE cart ADD COLUMN spy INTEGER',
      engine === 'sqlite'
        ? 'CREATE TRIGGER purchase_spy AFTER INSERT ON cart BEGIN SELECT 1; END'
        : 'CREATE TRIGGER purchase_spy AFTER INSERT ON cart EXECUTE FUNCTION suppress_redundant_updates_trigger()',
      'DELETE FROM cart',
      "UPDATE cart SET id = 'mine'",
      'CREATE TABLE purchase (a TEXT); INSERT INTO purchase SELECT id FROM cart',
    ].map((text): [string, RegExp] => [
      text,
      /(no such table: (main\.)?cart|"cart" does not exist)\. A migration can use only "purchase"/,
    ]),
    ['DROP TABLE mortise_migration', /no such table: mortise_migration|"mortise_migration" does not exist/],
  ]
  for (const [text, message] of cases) {
    const purchase = write('purchase', { '001-a.sql': `${text}` })
    await t.rejects(storage.migrate([cart, purchase]), { name: 'MigrationError', message }, text)
    t.strictSame(await objects(), [], text)
    t.strictSame((await storage.pending([cart, purchase])).length, 2)
  }
  t.equal((await storage.migrate([cart])).length, 1, 'the connection works on')
})

testOnEngines('a package that differs from what was applied is refused', async (t, open, engine) => {
  const { storage, write } = await temporaryMigrations(t, open, engine)
  const second = { '002-b.sql': `CREATE TABLE cart_b (c INTEGER)` }
  await storage.migrate([write('cart', { ...CART, ...second })])
  const changed = write('cart', { ...CART, '002-b.sql': `CREATE TABLE cart_b (d INTEGER)` })
  const refusal = {
    name: 'MigrationError',
    message: /002-b\.sql of cart has changed since it was applied.*never change/,
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

testOnEngines(
  'the schema may be ahead of the package: the version before works on it',
  async (t, open, engine) => {
    const { storage, write, objects } = await temporaryMigrations(t, open, engine)
    const older = () => write('cart', CART)
    await storage.migrate([write('cart', { ...CART, '002-b.sql': 'CREATE TABLE cart_b (c INTEGER)' })])
    t.strictSame(await storage.pending([older()]), [])
    t.strictSame(await storage.migrate([older()]), [])
    t.strictSame(await objects(), ['cart', 'cart_b', 'cart_by_id'])
  },
)

testOnEngines('migrating goes along with transactions under way', async (t, open, engine) => {
  const { storage, write } = await temporaryMigrations(t, open, engine)
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
