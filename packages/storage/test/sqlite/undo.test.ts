import { run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { temporaryMigrations } from '../temporary-migrations.ts'

const FILES = {
  '001-cart.sql': 'CREATE TABLE cart (id INTEGER PRIMARY KEY)',
  '001-cart.down.sql': 'DROP TABLE cart',
  '002-line.sql': 'CREATE TABLE cart_line (id INTEGER PRIMARY KEY, cart INTEGER REFERENCES cart (id))',
  '002-line.down.sql': 'DROP TABLE cart_line',
  '003-note.sql': 'ALTER TABLE cart ADD COLUMN note TEXT',
  '003-note.down.sql': 'ALTER TABLE cart DROP COLUMN note',
}
const of = (module: string, ...names: string[]) => names.map((name) => ({ module, name }))

t.test('a down migration that fails, or changes foreign objects, changes nothing', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  const cases: [string, RegExp][] = [
    ['DROP TABLE cart; DROP TABLE absent', /001-cart of cart cannot be undone: no such table: absent/],
    ['DROP TABLE cart; DROP TABLE other', /undoing 001-cart of cart drops the table "other"/],
    ['DROP TABLE cart; CREATE TABLE mine (a)', /makes the table "mine"/],
    ['DELETE FROM cart', /leaves rows in "cart_line" whose "cart" is gone/],
  ]
  await storage.migrate([write('other', { '001-other.sql': 'CREATE TABLE other (a)' })])
  for (const [down, message] of cases) {
    const up = `${FILES['001-cart.sql']}; ${FILES['002-line.sql']}; INSERT INTO cart VALUES (1); INSERT INTO cart_line VALUES (1, 1)`
    await storage.migrate([write('cart', { '001-cart.sql': up, '001-cart.down.sql': down })])
    const before = await storage.schema()
    await t.rejects(storage.undo(of('cart', '001-cart')), { name: 'MigrationError', message })
    t.strictSame(await storage.schema(), before, down)
    t.equal((await storage.many(sql`SELECT 1 FROM cart_line`)).length, 1)
    await t.rejects(
      storage.transaction(() => run(sql`INSERT INTO cart_line VALUES (2, 2)`)),
      { name: 'DatabaseError', kind: 'foreign-key' },
      'keys are watched again',
    )
    await storage.purge('cart')
  }
})
