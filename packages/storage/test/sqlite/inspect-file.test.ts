import { randomBytes } from 'node:crypto'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { one, run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import type { MigrationSet } from '../../src/port/storage.ts'
import { inspectFile } from '../../src/sqlite/inspect-file.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

const CART = {
  '001-cart.sql':
    'CREATE TABLE cart (id TEXT PRIMARY KEY); CREATE TABLE cart_item (id TEXT, cart TEXT REFERENCES cart (id));',
  '002-note.sql': 'ALTER TABLE cart ADD COLUMN note TEXT;',
}
const clean = {
  own: 7,
  damage: [],
  orphans: [],
  pending: [],
  ahead: [],
  changed: [],
  unchecked: [],
  unlike: [],
}

const inspect = (file: string, sets: readonly MigrationSet[]) =>
  inspectFile(file, sets, function* () {
    return (yield* one<{ own: number }>(sql`SELECT 7 AS own`)).own
  })

/** What was found, apart from how large the file is. */
async function found(file: string, sets: readonly MigrationSet[]) {
  const { size, ...rest } = (await inspect(file, sets)) ?? {}
  return rest
}

t.test('finds nothing amiss while a host reads and writes, and changes nothing', async (t) => {
  const { storage, directory, write } = await temporaryMigrations(t)
  const file = join(directory, 'app.db')
  const cart = write('cart', CART)
  await storage.migrate([cart])
  const writing = Array.from({ length: 50 }, (_, index) =>
    storage.transaction(() => run(sql`INSERT INTO cart (id) VALUES (${String(index)})`)),
  )
  t.strictSame(await found(file, [cart]), clean)
  await Promise.all(writing)
  t.strictSame(await storage.one(sql`SELECT count(*) AS count FROM cart`), { count: 50 })
  t.strictSame(await found(file, [cart]), clean)
})

t.test('there is nothing to look through before the first start', async (t) => {
  t.equal(await inspect(join(t.testdir({}), 'app.db'), []), undefined)
})

t.test('shows migrations that are missing, that are ahead, and that have changed', async (t) => {
  const { storage, directory, write } = await temporaryMigrations(t)
  const file = join(directory, 'app.db')
  const { '001-cart.sql': first } = CART
  await storage.migrate([write('cart', { '001-cart.sql': first })])
  t.strictSame(await found(file, [write('cart', CART)]), {
    ...clean,
    pending: [{ module: 'cart', name: '002-note' }],
  })
  await storage.migrate([write('cart', CART)])
  t.strictSame(await found(file, [write('cart', { '001-cart.sql': first })]), {
    ...clean,
    ahead: [{ module: 'cart', name: '002-note' }],
  })
  const changed = write('cart', { ...CART, '001-cart.sql': `${first} -- changed` })
  t.match((await inspect(file, [changed]))?.unlike, [/never change/])
})

t.test('counts rows whose parent is gone', async (t) => {
  const { storage, directory, write } = await temporaryMigrations(t)
  const file = join(directory, 'app.db')
  await storage.migrate([write('cart', CART)])
  const other = new SqliteDatabase(file)
  other.pragma('foreign_keys = OFF')
  other.exec("INSERT INTO cart_item VALUES ('1', 'gone'), ('2', 'gone')")
  other.close()
  t.strictSame((await inspect(file, []))?.orphans, [{ table: 'cart_item', parent: 'cart', rows: 2 }])
})

t.test('detects a file that is not a database, and a corrupt page', async (t) => {
  const { storage, directory, write } = await temporaryMigrations(t)
  const text = join(directory, 'text.db')
  await writeFile(text, 'this is no database, and longer than the header of one: '.repeat(10))
  t.match((await inspect(text, []))?.damage, [/not a database/])

  const file = join(directory, 'app.db')
  await storage.migrate([write('cart', CART)])
  await storage.transaction(function* () {
    for (let index = 0; index < 500; index++)
      yield* run(sql`INSERT INTO cart (id) VALUES (${`a long enough key to fill some pages ${index}`})`)
  })
  await storage.close()
  const handle = await open(file, 'r+')
  const { size } = await handle.stat()
  await handle.write(randomBytes(4096), 0, 4096, size - 4096)
  await handle.close()
  t.ok(((await inspect(file, []))?.damage.length ?? 0) > 0)
})
