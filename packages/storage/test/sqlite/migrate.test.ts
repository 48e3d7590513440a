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

t.test('foreign keys are checked only in the tables of the migrating module', async (t) => {
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
