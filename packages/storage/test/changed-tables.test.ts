import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { inspectDatabase } from '../src/inspect-database.ts'
import type { DatabaseAddress } from '../src/open-storage.ts'
import { testOnPostgres } from './engines.ts'
import { temporaryMigrations } from './temporary-migrations.ts'

const NAME = 'what another program has changed in the tables of a module is found'

const CART = {
  '001-cart.sql':
    'CREATE TABLE cart (id TEXT PRIMARY KEY, size BIGINT NOT NULL); CREATE INDEX cart_size ON cart (size)',
  '002-item.sql': 'CREATE TABLE cart_item (id TEXT PRIMARY KEY); ALTER TABLE cart ADD COLUMN note TEXT',
}

/** What is done, and what is found then, after what was found before. */
const CHANGES: [string, string[]][] = [
  ['CREATE TABLE other (id TEXT); CREATE INDEX cart_note ON cart (note)', []],
  ['DROP INDEX cart_note; ALTER TABLE cart DROP COLUMN note', ['the column "note" of "cart" is missing']],
  ['DROP INDEX cart_size', ['the index "cart_size" of "cart" is missing']],
  ['ALTER TABLE cart RENAME COLUMN size TO large', ['the column "size" of "cart" is missing']],
  ['DROP TABLE cart_item', ['the table "cart_item" is missing']],
]

type Migrations = Awaited<ReturnType<typeof temporaryMigrations>>

async function tryAll(
  t: Test,
  { storage, write }: Migrations,
  place: DatabaseAddress,
  change: (text: string) => unknown,
) {
  const sets = [write('cart', CART), write('purchase', { '001-a.sql': 'CREATE TABLE purchase (id TEXT)' })]
  await storage.migrate(sets)
  await storage.close()
  const found = async (quick = false) =>
    (await inspectDatabase(place, sets, function* () {}, quick))?.changed ?? ['nothing']
  t.strictSame(await found(), [])
  const expected: string[] = []
  for (const [text, differences] of CHANGES) {
    await change(text)
    expected.push(...differences)
    const [{ module, differences: all } = { module: 'cart', differences: [] }] = (await found()) as {
      module: string
      differences: string[]
    }[]
    t.equal(module, 'cart')
    for (const one of expected) t.ok(all.includes(one), `${one}, after ${text}: ${all}`)
    if (expected.length === 0) t.strictSame(all, [], text)
  }
  t.strictSame(await found(true), [], 'not in a quick look')
}

t.test(`${NAME} (sqlite)`, async (t) => {
  const migrations = await temporaryMigrations(t)
  const file = join(migrations.directory, 'app.db')
  await tryAll(t, migrations, { file }, (text) => {
    const database = new SqliteDatabase(file)
    database.exec(text)
    database.close()
  })
})

testOnPostgres(`${NAME} (postgres)`, async (t, open, url) => {
  const migrations = await temporaryMigrations(t, open, 'postgres')
  const schema = new URL(url).searchParams.get('schema')
  await tryAll(t, migrations, { url }, async (text) => {
    const client = new Client({ connectionString: url.split('?')[0], options: `-c search_path=${schema}` })
    await client.connect()
    await client.query(text)
    await client.end()
  })
})
