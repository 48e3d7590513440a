import { run, sql } from '@mortise/module-sdk'
import { testOnEngines } from './engines.ts'
import { temporaryMigrations } from './temporary-migrations.ts'

const FILES = {
  '001-cart.sql': 'CREATE TABLE cart (id INTEGER PRIMARY KEY)',
  '001-cart.down.sql': 'DROP TABLE cart',
  '002-line.sql': 'CREATE TABLE cart_line (id INTEGER PRIMARY KEY, cart INTEGER REFERENCES cart (id))',
  '002-line.down.sql': 'DROP TABLE cart_line',
  '003-note.sql': 'ALTER TABLE cart ADD COLUMN note TEXT',
  '003-note.down.sql': 'ALTER TABLE cart DROP COLUMN note',
}
const of = (module: string, ...names: string[]) => names.map((name) => ({ module, name }))

testOnEngines(
  'undoes what is named, newest first, whatever the order it is named in; repeating is nothing',
  async (t, open, engine) => {
    const { storage, write, objects } = await temporaryMigrations(t, open, engine)
    const cart = write('cart', FILES)
    await storage.migrate([cart])
    await storage.transaction(() => run(sql`INSERT INTO cart VALUES (1, 'n')`))
    const later = of('cart', '002-line', '003-note')
    await storage.undo(later)
    t.strictSame(await objects(), ['cart'])
    t.strictSame(await storage.many(sql`SELECT * FROM cart`), [{ id: 1 }], 'rows stay')
    t.strictSame(await storage.applied(), [{ module: 'cart', name: '001-cart', reversible: true }])
    await storage.undo([...later, ...of('nobody', '001-nothing')])
    t.strictSame(await storage.migrate([cart]), later, 'and can be applied again')
  },
)

testOnEngines('the ledger keeps the order of application, across modules', async (t, open, engine) => {
  const { storage, write } = await temporaryMigrations(t, open, engine)
  await storage.migrate([write('cart', { '001-cart.sql': FILES['001-cart.sql'] })])
  await storage.migrate([
    write('a', { '001-a.sql': 'CREATE TABLE a (b INTEGER)', '001-a.down.sql': 'DROP TABLE a' }),
  ])
  await storage.migrate([
    write('cart', { '001-cart.sql': FILES['001-cart.sql'], '002-line.sql': FILES['002-line.sql'] }),
  ])
  t.strictSame(await storage.applied(), [
    { module: 'cart', name: '001-cart', reversible: false },
    { module: 'a', name: '001-a', reversible: true },
    { module: 'cart', name: '002-line', reversible: false },
  ])
})

testOnEngines(
  'one that is irreversible is refused by name before anything is undone',
  async (t, open, engine) => {
    const { storage, write, objects } = await temporaryMigrations(t, open, engine)
    const { '002-line.down.sql': _irreversible, ...files } = FILES
    await storage.migrate([write('cart', files)])
    const before = await storage.schema()
    await t.rejects(storage.undo(of('cart', '001-cart', '002-line', '003-note')), {
      name: 'MigrationError',
      message: /^002-line of cart is irreversible/,
    })
    t.strictSame(await storage.schema(), before)
    t.strictSame(await objects(), ['cart', 'cart_line'])
  },
)

testOnEngines('a migration with later ones is not undone alone', async (t, open, engine) => {
  const { storage, write } = await temporaryMigrations(t, open, engine)
  await storage.migrate([write('cart', FILES)])
  await t.rejects(storage.undo(of('cart', '001-cart', '003-note')), {
    name: 'MigrationError',
    message: /001-cart of cart cannot be undone alone: 002-line/,
  })
  t.equal((await storage.applied()).length, 3)
})
