import { many, one, run, sql, type Transaction } from '@mortise/module-sdk'
import t from 'tap'
import { MOST_ROWS } from '../../src/port/read-limit.ts'
import { countTurns } from '../count-turns.ts'
import { temporaryStorage } from '../temporary-storage.ts'

const SCHEMA = `
  CREATE TABLE large (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
  INSERT INTO large SELECT i, 'note ' || i FROM n;`

const noMatch = sql`SELECT id FROM large WHERE note = 'nothing'`
const slow = sql`
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT max(i) AS last FROM n`
const count = sql`SELECT count(*) AS count FROM large`
const long = { long: true }

t.test('a read that is declared as long leaves the event loop; any other one is done at once', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  t.equal(await countTurns(() => storage.many(noMatch)), 0)
  t.equal(await countTurns(() => storage.one(count)), 0)
  t.equal(await countTurns(() => storage.maybeOne(noMatch)), 0)
  t.equal(await countTurns(() => storage.snapshot(() => one(count))), 0)
  t.ok((await countTurns(() => storage.many(noMatch, long))) > 0)
  t.ok((await countTurns(() => storage.one(slow, long))) > 0)
  t.ok((await countTurns(() => storage.maybeOne(slow, long))) > 0)
  t.ok((await countTurns(() => storage.snapshot(() => one(slow), long))) > 0)
})

t.test('a statement that is slow on the event loop is named once', async (t) => {
  const named: string[] = []
  const storage = await temporaryStorage(t, SCHEMA, {
    onSlowRead(statement, milliseconds) {
      t.ok(milliseconds > 100)
      named.push(statement)
    },
  })
  await storage.one(count)
  await storage.one(slow, long)
  await storage.snapshot(() => one(slow), long)
  t.strictSame(named, [])
  await storage.snapshot(() => one(slow))
  await storage.one(slow)
  t.strictSame(named, [slow.strings.join('?')])
})

t.test('a thread returns the same rows in the same order', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const rows = await storage.many<{ id: number; note: string }>(
    sql`SELECT id, note FROM large WHERE id > ${2_000} ORDER BY id`,
    long,
  )
  t.equal(rows.length, 10_000)
  t.strictSame(rows[0], { id: 2_001, note: 'note 2001' })
  t.strictSame(rows.at(-1), { id: 12_000, note: 'note 12000' })
  t.strictSame(await storage.one(count, long), { count: 12_000 })
  t.equal(await storage.maybeOne(noMatch, long), undefined)
})

t.test('more rows than a read may respond are refused', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const all = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`
  await t.rejects(storage.many(all, long), {
    kind: 'refused',
    message: new RegExp(`at most ${MOST_ROWS} rows`),
  })
  await t.rejects(
    storage.snapshot(() => many(all), long),
    { name: 'DatabaseError', kind: 'refused' },
  )
  t.strictSame(await storage.one(count, long), { count: 12_000 }, 'and the next one has a response')
  const some = sql`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${MOST_ROWS + 1}) SELECT i FROM n`
  await t.rejects(storage.many(some), { name: 'DatabaseError', kind: 'refused' })
})

t.test('a statement fails in a thread as it does elsewhere', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  await t.rejects(storage.many(sql`SELECT abs(-9223372036854775808) FROM large`, long), {
    name: 'DatabaseError',
    kind: 'other',
    message: /overflow/,
  })
  await t.rejects(storage.many(sql`SELECT 9007199254740993 AS big FROM large`, long), {
    message: /"big" is beyond/,
  })
  const caught = await storage.snapshot(function* () {
    try {
      yield* many(sql`SELECT abs(-9223372036854775808) FROM large`)
    } catch {
      return yield* one(count)
    }
  }, long)
  t.strictSame(caught, { count: 12_000 })
})

t.test('a snapshot in a thread shows one moment, while others write', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  let writes = 0
  let isOver = false
  const writer = (async () => {
    while (!isOver) {
      await storage.transaction(() => run(sql`INSERT INTO large (note) VALUES ('new')`))
      writes += 1
    }
  })()
  const counts = await storage.snapshot(function* (): Transaction<number[]> {
    const found: number[] = []
    while (found.length < 50) found.push((yield* one<{ count: number }>(count)).count)
    return found
  }, long)
  isOver = true
  await writer
  t.ok(writes > 1, 'it was written to meanwhile')
  t.equal(new Set(counts).size, 1)
  t.strictSame(await storage.one(count), { count: 12_000 + writes }, 'a read sees what is committed')
})

t.test('many at once return rows, and reject once the storage is closed', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const responses = await Promise.all(Array.from({ length: 20 }, () => storage.one(count, long)))
  t.equal(responses.length, 20)
  const late = storage.many(noMatch, long)
  const closing = storage.close()
  await t.rejects(late, /closed/)
  await closing
})

t.test('a read that waits for a thread waits no longer than it may', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  let isOver = false
  function* busy(): Transaction<void> {
    while (!isOver) yield* one(count)
  }
  const others = [1, 2].map(() => storage.snapshot(busy, long))
  await t.rejects(
    storage.snapshot(() => one(count), { long: true, within: 20 }),
    { name: 'DatabaseError', kind: 'too-long' },
  )
  isOver = true
  await Promise.all(others)
  t.strictSame(await storage.snapshot(() => one(count), { long: true, within: 60_000 }), { count: 12_000 })
})
