import t from 'tap'
import { rehearseMigrations } from '../../src/storage/rehearse-migrations.ts'

t.test('tries migrations without a database of one’s own', async (t) => {
  const directory = t.testdir({
    '001-cart.sql': '-- irreversible\nCREATE TABLE cart (id TEXT PRIMARY KEY)',
    '002-item.sql': '-- irreversible\nCREATE TABLE item (id TEXT)',
  })
  const set = { module: 'api-cart', directory, tables: 'cart' }
  await t.rejects(rehearseMigrations([set]), {
    name: 'MigrationError',
    message: /002-item\.sql.*makes the table "item"/,
  })
  t.strictSame(await rehearseMigrations([{ ...set, directory: t.testdir() }]), [])
  const good = t.testdir({ '001-cart.sql': '-- irreversible\nCREATE TABLE cart (id TEXT PRIMARY KEY)' })
  t.strictSame(await rehearseMigrations([{ ...set, directory: good }]), [
    { module: 'api-cart', name: '001-cart' },
  ])
})
