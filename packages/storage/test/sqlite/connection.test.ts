import { many, run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { insertItem, memoryConnection, SCHEMA } from '../temporary-storage.ts'

const step = (steps: Generator) => steps.next().value

t.test('integers are stored as integers, whatever the column', async (t) => {
  const connection = memoryConnection(t, 'CREATE TABLE note (text TEXT)')
  t.strictSame(connection.first(sql`SELECT ${7} / ${2} AS half, typeof(${1_700_000_000_000}) AS type`), {
    half: 3,
    type: 'integer',
  })
  connection.changes(sql`INSERT INTO note VALUES (${5})`)
  t.strictSame(connection.all(sql`SELECT * FROM note`), [{ text: '5' }])
})

t.test('values come back as they went in', async (t) => {
  const connection = memoryConnection(t, '')
  const row = { a: Number.MAX_SAFE_INTEGER, b: Number.MIN_SAFE_INTEGER, c: 'Ä\u{1F600}', d: null, e: 0 }
  t.strictSame(
    connection.first(sql`SELECT ${row.a} AS a, ${row.b} AS b, ${row.c} AS c, ${row.d} AS d, ${-0} AS e`),
    row,
  )
})

t.test('an integer that a number cannot hold exactly is an error, never rounded', async (t) => {
  const connection = memoryConnection(t, 'CREATE TABLE big (n BIGINT)')
  for (const value of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n]) {
    t.throws(() => connection.first(sql`SELECT 1 AS a, ${value} AS n`), {
      kind: 'other',
      message: /"n".*rounded/,
    })
    t.throws(() => connection.all(sql`SELECT 1 AS n UNION ALL SELECT ${value}`), { message: /rounded/ })
    t.throws(() => connection.all(sql`INSERT INTO big VALUES (${value}) RETURNING n`), { message: /rounded/ })
    t.strictSame(connection.first(sql`SELECT CAST(${value} AS TEXT) AS n`), { n: String(value) })
  }
  t.throws(() => connection.first(sql`SELECT ${2n ** 63n} AS n`), {
    name: 'DatabaseError',
    message: /too big/,
  })
})

t.test('a step returns rows or changes, as it wants', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  const twoRows = sql`INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 1) RETURNING id`
  t.strictSame(connection.execute(step(many(twoRows))), [{ id: 1 }, { id: 2 }])
  t.equal(connection.execute(step(run(sql`UPDATE item SET quantity = 2`))), 2)
  t.equal(connection.execute(step(run(sql`UPDATE item SET quantity = 3 RETURNING id`))), 2)
  t.strictSame(connection.all(sql`SELECT quantity FROM item`), [{ quantity: 3 }, { quantity: 3 }])
  t.equal(connection.execute(step(run(sql`SELECT * FROM item`))), 0)
  t.equal(connection.execute(step(run(sql`DELETE FROM item WHERE id = 9`))), 0)
  t.strictSame(connection.execute(step(many(insertItem(3, 'c')))), [])
  t.strictSame(connection.first(sql`SELECT name FROM item WHERE id = 3`), { name: 'c' })
})

t.test('SQLite plans a statement once: a plus sign hides the values from it and changes none', async (t) => {
  const connection = memoryConnection(t, 'CREATE TABLE a (number INTEGER, text TEXT)')
  const query = sql`INSERT INTO a VALUES (${7}, ${'7'})`
  t.equal(connection.prepare(query).statement.source, 'INSERT INTO a VALUES (+?, +?)')
  t.equal(connection.prepare(query).text, 'INSERT INTO a VALUES (?, ?)')
  connection.changes(query)
  // A column converts what it is compared with, as without the sign.
  const both = [{ number: 7, text: '7' }]
  t.strictSame(connection.all(sql`SELECT * FROM a WHERE number = ${'7'} AND text = ${7}`), both)
  t.strictSame(connection.all(sql`SELECT * FROM a WHERE text IN (${'7'}) LIMIT ${1}`), both)
  t.strictSame(connection.all(sql`SELECT ${'x'} AS x, ${null} AS n`), [{ x: 'x', n: null }])
})

t.test('constraints fail by kind', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  connection.changes(insertItem(1, 'a'))
  t.throws(() => connection.changes(insertItem(1, 'b')), { name: 'DatabaseError', kind: 'unique' })
  t.throws(() => connection.changes(insertItem(2, 'a')), { name: 'DatabaseError', kind: 'unique' })
  t.throws(() => connection.changes(insertItem(2, 'b', 0)), { name: 'DatabaseError', kind: 'check' })
  t.throws(() => connection.changes(sql`INSERT INTO item (id, quantity) VALUES (2, 1)`), {
    name: 'DatabaseError',
    kind: 'not-null',
  })
  t.throws(() => connection.changes(sql`INSERT INTO child VALUES (1, 9)`), {
    name: 'DatabaseError',
    kind: 'foreign-key',
  })
})

t.test('placeholders outside the sql tag are an error, not a wrong binding', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  t.throws(() => connection.all(sql`SELECT ? AS a`), { name: 'DatabaseError', message: /Too few/ })
  t.throws(() => connection.all(sql`SELECT :name AS a`), { name: 'DatabaseError' })
  t.strictSame(connection.first(sql`SELECT '?' AS a, ${1} AS b`), { a: '?', b: 1 })
})
