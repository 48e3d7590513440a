import { join, sql } from '@mortise/module-sdk'
import t from 'tap'
import { COMPOSED_STATEMENTS, StatementCache } from '../../src/sqlite/connection.ts'
import { memoryConnection, SCHEMA } from '../temporary-storage.ts'

t.test('a query written whole is prepared once per call site', async (t) => {
  const cache = new StatementCache(memoryConnection(t, SCHEMA).database)
  const query = (id: number) => sql`SELECT * FROM item WHERE id = ${id}`
  t.equal(cache.get(query(1)), cache.get(query(2)))
  t.equal(cache.composed, 0)
})

t.test('queries of too many fragments are found by text, and only so many are kept', async (t) => {
  const cache = new StatementCache(memoryConnection(t, SCHEMA).database)
  const few = 32
  const query = (count: number) =>
    sql`SELECT * FROM item WHERE id IN (${join(Array.from({ length: few + count }, (_, id) => sql`${id}`))})`
  t.equal(cache.get(query(0)), cache.get(query(0)))
  t.equal(cache.composed, 0, 'a few are found like a query that is written whole')
  const first = cache.get(query(1))
  t.equal(cache.get(query(1)), first)
  t.equal(cache.composed, 1)
  for (let count = 2; count <= COMPOSED_STATEMENTS + 20; count++) cache.get(query(count))
  t.equal(cache.composed, COMPOSED_STATEMENTS)
  t.not(cache.get(query(1)), first, 'the least recently used was dropped')
})

t.test('an error shows the text that is not one statement', async (t) => {
  const cache = new StatementCache(memoryConnection(t, SCHEMA).database)
  t.throws(() => cache.get(sql`SELECT 1; SELECT 2`), { kind: 'refused', message: /more than one statement/ })
  t.throws(() => cache.get(sql`SELECT FROM`), { kind: 'other', message: /syntax error.*SELECT FROM/ })
  t.throws(() => cache.get('SELECT 1' as never), { name: 'TypeError', message: /sql`…`/ })
})
