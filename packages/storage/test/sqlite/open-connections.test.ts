import { join } from 'node:path'
import { sql } from '@mortise/module-sdk'
import t from 'tap'
import { openReader, openWriter } from '../../src/sqlite/open-connections.ts'

t.test('a commit is durable, keys are enforced, the schema is not trusted', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const writer = openWriter(file)
  const reader = openReader(file)
  t.teardown(() => {
    reader.database.close()
    writer.database.close()
  })
  const pragma = (name: string) => writer.database.pragma(name, { simple: true })
  t.equal(pragma('journal_mode'), 'wal')
  t.equal(pragma('synchronous'), 2, 'FULL')
  t.equal(pragma('foreign_keys'), 1)
  t.equal(pragma('trusted_schema'), 0)
  for (const { database } of [writer, reader])
    t.equal(database.pragma('temp_store', { simple: true }), 2, 'MEMORY: no request needs a temporary file')
  t.equal(reader.database.pragma('query_only', { simple: true }), 1)
  t.throws(() => reader.database.exec('CREATE TABLE a (b)'), { code: 'SQLITE_READONLY' })
  t.throws(() => reader.all(sql`CREATE TABLE a (b)`), { name: 'DatabaseError', kind: 'read-only' })
})

t.test('a reader creates no file', async (t) => {
  t.throws(() => openReader(join(t.testdir(), 'app.db')), { code: 'SQLITE_CANTOPEN' })
})
