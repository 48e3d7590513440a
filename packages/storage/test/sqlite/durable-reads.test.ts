import { join } from 'node:path'
import { many, run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { BrokenStorageError } from '../../src/port/errors.ts'
import { Connection } from '../../src/sqlite/connection.ts'

/** A storage whose disk is as slow as a test wants. */
async function slowDisk(t: Test) {
  const file = join(t.testdir(), 'app.db')
  const fatal: Error[] = []
  const storage = await openStorage({ file, onFatal: (error) => fatal.push(error) })
  t.teardown(() => storage.close())
  const database = new SqliteDatabase(file)
  t.teardown(() => database.close())
  database.exec(`CREATE TABLE item (id INTEGER PRIMARY KEY);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
    INSERT INTO item SELECT i FROM n`)
  const synced = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  t.intercept(Connection.prototype, 'sync', {
    value: () => {
      begun.resolve()
      return synced.promise
    },
  })
  const writing = storage.transaction(() => run(sql`INSERT INTO item VALUES (0)`))
  writing.catch(() => {})
  await begun.promise
  const committed = database.prepare('SELECT count(*) AS n FROM item').get()
  t.strictSame(committed, { n: 30001 }, 'another process would see it')
  return { storage, writing, synced, fatal }
}

const first = sql`SELECT id FROM item WHERE id = 0`
const total = sql`SELECT count(*) AS n FROM item`

t.test('what is not on the disk yet is not read', async (t) => {
  const { storage, writing, synced } = await slowDisk(t)
  t.strictSame(await storage.many(first), [])
  t.equal(await storage.maybeOne(first), undefined)
  t.strictSame(await storage.snapshot(() => many(first)), [])
  let isRead = false
  const inThread = storage.many(total, { long: true }).finally(() => {
    isRead = true
  })
  for (let time = 0; time < 20; time += 1) await storage.many(first)
  t.notOk(isRead)
  synced.resolve()
  await writing
  t.strictSame(await inThread, [{ n: 30001 }])
  t.strictSame(await storage.many(first), [{ id: 0 }])
  t.strictSame(await storage.snapshot(() => many(first)), [{ id: 0 }])
})

t.test('nor after a failed sync', async (t) => {
  const { storage, writing, synced, fatal } = await slowDisk(t)
  const inThread = storage.many(total, { long: true })
  const failure = new BrokenStorageError('the disk is gone', {}, 'unknown-outcome')
  synced.reject(failure)
  await t.rejects(writing, { name: 'DatabaseError', kind: 'unknown-outcome' })
  await t.rejects(inThread, { name: 'DatabaseError', kind: 'unavailable' })
  await t.rejects(storage.many(first), { name: 'DatabaseError', kind: 'unavailable' })
  t.strictSame(fatal, [failure])
})
