import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import { RowCounts } from '../../src/sqlite/row-counts.ts'

t.test('a scan of a large table counts as endless, a group of it until it is measured', async (t) => {
  const database = new SqliteDatabase(':memory:')
  t.teardown(() => database.close())
  database.exec(`
    CREATE TABLE large (id INTEGER PRIMARY KEY, owner TEXT);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    INSERT INTO large SELECT i, 'owner ' || (i / 10) FROM n;
    CREATE TABLE small (id INTEGER PRIMARY KEY, owner TEXT);
    INSERT INTO small SELECT * FROM large WHERE id <= 30;`)
  const asked: Sql[] = []
  let failure: Error | undefined
  const counts = new RowCounts(database, async (query) => {
    asked.push(query)
    if (failure) throw failure
    return database.prepare(query.strings.join('?')).get() as { most: number }
  })
  const group = { table: 'large', columns: ['owner'] }
  t.equal(counts.of({ table: 'small', columns: [] }), 30)
  t.equal(counts.of({ table: 'small', columns: ['owner'] }), 30, 'nothing is measured of a small one')
  t.equal(counts.of({ table: 'large', columns: [] }), Number.POSITIVE_INFINITY)
  t.equal(counts.of(group), Number.POSITIVE_INFINITY)
  t.equal(counts.of(group), Number.POSITIVE_INFINITY)
  await nextTurn()
  t.equal(counts.of(group), 10)
  t.equal(asked.length, 1)

  counts.clear()
  failure = new Error('away')
  t.equal(counts.of(group), Number.POSITIVE_INFINITY)
  await nextTurn()
  t.equal(counts.of(group), Number.POSITIVE_INFINITY, 'what could not be measured counts as large')
})
