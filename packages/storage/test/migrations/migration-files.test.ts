import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { readMigrations } from '../../src/migrations/migration-files.ts'

const read = (t: Test, files: Record<string, string>) =>
  readMigrations({ module: 'api-cart', directory: t.testdir(files), tables: 'cart' }, 'sqlite')

t.test('reads what is for SQLite, in order', async (t) => {
  const files = await read(t, {
    '002-more.sqlite.sql': 'CREATE TABLE cart_b (c)',
    '002-more.postgres.sql': 'CREATE TABLE cart_b (c bigint)',
    '002-more.sqlite.down.sql': 'DROP TABLE cart_b',
    '002-more.postgres.down.sql': 'DROP TABLE cart_b CASCADE',
    '001-cart.sql': 'CREATE TABLE cart (b)',
    '001-cart.down.sql': 'DROP TABLE cart',
    '003_the-end.sql': 'DELETE FROM cart',
    'README.md': 'notes',
  })
  t.match(files, [
    { name: '001-cart', up: 'CREATE TABLE cart (b)', down: 'DROP TABLE cart' },
    { name: '002-more', up: 'CREATE TABLE cart_b (c)', down: 'DROP TABLE cart_b' },
    { name: '003_the-end', down: null },
  ])
  t.equal(files.length, 3)
  t.equal(files[0]?.checksum, createHash('sha256').update('CREATE TABLE cart (b)').digest('hex'))
})

t.test('an empty folder has none', async (t) => {
  t.strictSame(await read(t, {}), [])
})

t.test('an invalid folder is refused, with file and module', async (t) => {
  const empty = ''
  const cases: [Record<string, string>, RegExp][] = [
    [{ '002-cart.sql': empty }, /002-cart\.sql of api-cart should have the number 001/],
    [{ '001-a.sql': empty, '003-b.sql': empty }, /003-b\.sql.*number 002/],
    [{ '001-a.sql': empty, '001-b.sql': empty }, /001-b\.sql.*number 002/],
    [{ '1-cart.sql': empty }, /1-cart\.sql of api-cart is not a migration name/],
    [{ '001-Cart.sql': empty }, /001-Cart\.sql of api-cart is not a migration name/],
    [{ '001-cart.mysql.sql': empty }, /is not a migration name/],
    [{ '001-cart.postgres.sql': empty }, /001-cart of api-cart has no file for SQLite/],
    [{ '001-cart.down.sql': '' }, /has no file for SQLite/],
    [{ '001-cart.sql': empty, '001-cart.sqlite.sql': empty }, /keep 001-cart\.sql or 001-cart\.sqlite/],
    [{ '001-cart.sql': empty, '001-cart.postgres.sql': empty }, /for all engines and for one/],
  ]
  for (const [index, [files, message]] of cases.entries()) {
    await t.test(`case ${index}`, (t) => t.rejects(read(t, files), { name: 'MigrationError', message }))
  }
})

t.test('a missing folder and an unreadable file are MigrationErrors', async (t) => {
  const set = { module: 'api-cart', directory: '/nowhere/migrations', tables: 'cart' }
  await t.rejects(readMigrations(set, 'sqlite'), {
    name: 'MigrationError',
    message: /api-cart cannot be read.*ENOENT/,
  })
  const directory = t.testdir({ '001-cart.sql': {} })
  await t.rejects(readMigrations({ ...set, directory }, 'sqlite'), {
    name: 'MigrationError',
    message: /EISDIR/,
  })
})
