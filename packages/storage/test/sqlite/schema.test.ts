import { join } from 'node:path'
import { sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'
import { temporaryStorage } from '../temporary-storage.ts'

const FILES = {
  '001-cart.sql': `
    CREATE VIEW cart_early AS SELECT * FROM cart_late;
    CREATE TABLE cart_late (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT UNIQUE);
    CREATE TABLE cart (id INTEGER PRIMARY KEY, late INTEGER REFERENCES cart_late (id)) STRICT;
    CREATE INDEX cart_by_late ON cart (late);
    CREATE TRIGGER cart_touch AFTER INSERT ON cart BEGIN UPDATE cart SET late = NULL WHERE id = new.id; END;
    CREATE VIRTUAL TABLE cart_text USING fts5 (body);
    INSERT INTO cart VALUES (1, NULL);`,
  '001-cart.down.sql': 'DROP TABLE cart',
  '002-more.sql': 'ALTER TABLE cart ADD COLUMN more TEXT',
}

t.test('an empty database begins with the schema and the ledger of another, without its rows', async (t) => {
  const { directory, storage, write } = await temporaryMigrations(t)
  const cart = write('cart', FILES)
  await storage.migrate([cart])
  const schema = await storage.schema()
  const twin = await temporaryStorage(t, '', {
    file: join(directory, 'twin.db'),
    schema: structuredClone(schema),
  })
  t.strictSame(await twin.schema(), schema)
  t.strictSame(await twin.many(sql`SELECT * FROM cart`), [])
  t.strictSame(await twin.pending([cart]), [])
  const next = write('cart', { ...FILES, '003-next.sql': 'ALTER TABLE cart ADD COLUMN next TEXT' })
  t.strictSame(await twin.migrate([next]), [{ module: 'cart', name: '003-next' }])
})

t.test('a database with content does not get a new schema', async (t) => {
  const { directory, storage, write } = await temporaryMigrations(t)
  await storage.migrate([write('cart', FILES)])
  const schema = await storage.schema()
  const file = join(directory, 'app.db')
  await storage.close()
  const again = openStorage({ file, onFatal: (error) => t.fail(error.message), schema })
  await t.rejects(again, { message: /not empty/ })
  const reopened = await temporaryStorage(t, '', { file })
  t.strictSame(await reopened.schema(), schema)
})

t.test('an empty input gives no text', async (t) => {
  const { storage } = await temporaryMigrations(t)
  t.strictSame(await storage.schema(), { statements: [], ledger: [] })
  t.strictSame(await storage.applied(), [])
})
