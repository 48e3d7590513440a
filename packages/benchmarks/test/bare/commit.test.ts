import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import { type Commit, commitEach, commitGrouped } from '../../src/bare/commit.ts'

for (const commit of [commitEach, commitGrouped]) {
  t.test(`${commit.name}: a transaction that throws is undone, and its neighbours are not`, async (t) => {
    const database = new SqliteDatabase(':memory:')
    t.teardown(() => database.close())
    database.exec('CREATE TABLE number (value INTEGER)')
    const insert = database.prepare('INSERT INTO number VALUES (?)')
    const transaction: Commit = commit(database)

    const outcomes = await Promise.allSettled([
      transaction(() => insert.run(1).changes),
      transaction(() => {
        insert.run(2)
        throw new Error('no')
      }),
      transaction(() => insert.run(3).changes),
    ])

    t.same(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.same(database.prepare('SELECT value FROM number').pluck().all(), [1, 3])
  })
}

t.test('commitGrouped: transactions of one turn share a COMMIT', async (t) => {
  const statements: unknown[] = []
  const database = new SqliteDatabase(':memory:', { verbose: (statement) => statements.push(statement) })
  t.teardown(() => database.close())
  const transaction = commitGrouped(database)
  await Promise.all([transaction(() => 1), transaction(() => 2), transaction(() => 3)])
  t.equal(statements.filter((statement) => statement === 'COMMIT').length, 1)
})
