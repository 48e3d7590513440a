import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { inspectDatabase } from '../src/inspect-database.ts'
import { type DatabaseAddress, openStorage } from '../src/open-storage.ts'
import { temporarySchema, testOnPostgres } from './engines.ts'
import { ownRole } from './postgres/own-role.ts'
import { temporaryDatabase } from './postgres/temporary-database.ts'
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

/** A trigger needs a function, which PostgreSQL does not look for among temporary objects. */
const COUNTED = {
  ...CART,
  '003-count.sqlite.sql': 'CREATE TABLE cart_count (id TEXT PRIMARY KEY)',
  '003-count.postgres.sql': `
    CREATE TYPE cart_mood AS ENUM ('a');
    CREATE TABLE cart_count (id TEXT PRIMARY KEY, item TEXT REFERENCES cart_item, mood cart_mood);
    CREATE FUNCTION cart_previous() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER cart_noted AFTER INSERT ON cart_count FOR EACH ROW EXECUTE /* ü */ PROCEDURE cart_previous();
    DROP TRIGGER cart_noted ON cart_count;
    DROP FUNCTION IF EXISTS cart_previous();
    CREATE FUNCTION cart_note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER cart_noted AFTER INSERT ON cart_count FOR EACH ROW EXECUTE FUNCTION cart_note();
    INSERT INTO cart_count (id) VALUES ('a')`,
}

testOnPostgres('a role with any rights compares, or the missing GRANT is named', async (t) => {
  const place = await temporaryDatabase(t, await temporarySchema(t))
  const { url, role, schema, database, execute } = await ownRole(t, place)
  const { write } = await temporaryMigrations(t)
  const sets = [write('cart', COUNTED)]
  const storage = await openStorage({ url, onFatal: t.fail })
  await storage.migrate(sets)
  await storage.close()
  const look = async () => await inspectDatabase({ url }, sets, function* () {})

  t.match(await look(), { changed: [], unchecked: [] }, 'temporary tables do')
  await execute(`DROP TRIGGER cart_noted ON ${schema}.cart_count; DROP INDEX ${schema}.cart_size`)
  const differences = [
    'the index "cart_size" of "cart" is missing',
    'the trigger "cart_noted" of "cart_count" is missing',
  ]
  t.match(await look(), { changed: [{ module: 'cart', differences }], unchecked: [] })

  await execute(`REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`)
  const remedy = `GRANT TEMPORARY ON DATABASE "${database}" TO "${role}";`
  const reason = /may create neither schemas nor temporary tables/
  t.match(await look(), { changed: [], unchecked: [{ module: 'cart', reason, remedy }] })
  await execute(remedy)
  t.match(await look(), { changed: [{ differences }], unchecked: [] }, 'the remedy is true')

  // A statement that runs a function does not find it among temporary objects.
  const call = `CREATE FUNCTION cart_size_of(int) RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT cart_size_of(1)`
  sets[0] = write('cart', { ...COUNTED, '004-call.postgres.sql': call, '004-call.sqlite.sql': '-- nothing' })
  const again = await openStorage({ url, onFatal: t.fail })
  await again.migrate(sets)
  await again.close()
  const more = `GRANT CREATE ON DATABASE "${database}" TO "${role}";`
  t.match(await look(), { unchecked: [{ module: 'cart', reason: /cart_size_of/, remedy: `${more} Run` }] })
  await execute(more)
  t.match(await look(), { changed: [{ differences }], unchecked: [] })

  await execute(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
  t.match(await look(), { unchecked: [{ reason: /read-only/, remedy: /accepts writes/ }] })
})

t.test('migrations that do not end on an empty database are named', async (t) => {
  const { storage, write, directory } = await temporaryMigrations(t)
  const set = write('cart', { '001-a.sql': 'CREATE TABLE cart (id TEXT)' })
  await storage.migrate([set])
  await storage.close()
  const place = { file: join(directory, 'app.db') }
  const kept = process.execPath
  t.teardown(() => {
    process.execPath = kept
  })
  process.execPath = '/bin/false'
  const found = await inspectDatabase(place, [set], function* () {})
  t.match(found, { changed: [], unchecked: [{ module: 'cart', reason: /could not be run/ }] })
})
