import { many, one, run, sql, type Transaction } from '@mortise/module-sdk'
import t from 'tap'
import { MOST_ROWS } from '../../src/port/read-limit.ts'
import { countTurns } from '../count-turns.ts'
import { temporaryStorage } from '../temporary-storage.ts'

const SCHEMA = `
  CREATE TABLE large (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
  INSERT INTO large SELECT i, 'note ' || i FROM n;
  CREATE TABLE small (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
  INSERT INTO small SELECT * FROM large WHERE id <= 100;`

const noMatch = sql`SELECT id FROM large WHERE note = 'nothing'`
const slow = sql`
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000) SELECT max(i) AS last FROM n`
const count = sql`SELECT count(*) AS count FROM large`

t.test(
  'a read that may go through many rows leaves the event loop; one of few is done at once',
  async (t) => {
    const storage = await temporaryStorage(t, SCHEMA)
    t.equal(await countTurns(() => storage.many(sql`SELECT id FROM small WHERE note = 'nothing'`)), 0)
    t.equal(await countTurns(() => storage.one(sql`SELECT note FROM large WHERE id = ${7}`)), 0)
    t.ok((await countTurns(() => storage.many(noMatch))) > 0)
    t.ok((await countTurns(() => storage.maybeOne(slow))) > 0)
    t.ok((await countTurns(() => storage.snapshot(() => one(slow)))) > 0)
  },
)

t.test('a thread returns the same rows in the same order', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const rows = await storage.many<{ id: number; note: string }>(
    sql`SELECT id, note FROM large WHERE id > ${2_000} ORDER BY id`,
  )
  t.equal(rows.length, 10_000)
  t.strictSame(rows[0], { id: 2_001, note: 'note 2001' })
  t.strictSame(rows.at(-1), { id: 12_000, note: 'note 12000' })
  t.strictSame(await storage.one(count), { count: 12_000 })
  t.equal(await storage.maybeOne(noMatch), undefined)
})

t.test('more rows than a read may respond are refused', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const all = sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`
  await t.rejects(storage.many(all), { kind: 'refused', message: new RegExp(`at most ${MOST_ROWS} rows`) })
  await t.rejects(
    storage.snapshot(() => many(all)),
    { name: 'DatabaseError', kind: 'refused' },
  )
  t.strictSame(await storage.one(count), { count: 12_000 }, 'and the next one has a response')
})

t.test('a statement fails in a thread as it does elsewhere', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  await t.rejects(storage.many(sql`SELECT abs(-9223372036854775808) FROM large`), {
    name: 'DatabaseError',
    kind: 'other',
    message: /overflow/,
  })
  await t.rejects(storage.many(sql`SELECT 9007199254740993 AS big FROM large`), {
    message: /"big" is beyond/,
  })
  const caught = await storage.snapshot(function* () {
    try {
      yield* many(sql`SELECT abs(-9223372036854775808) FROM large`)
    } catch {
      return yield* one(count)
    }
  })
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
  })
  isOver = true
  await writer
  t.ok(writes > 1, 'it was written to meanwhile')
  t.equal(new Set(counts).size, 1)
  t.strictSame(await storage.one(count), { count: 12_000 + writes }, 'a read sees what is committed')
})

t.test('many at once return rows, and reject once the storage is closed', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const responses = await Promise.all(Array.from({ length: 20 }, () => storage.one(count)))
  t.equal(responses.length, 20)
  const late = storage.many(noMatch)
  const closing = storage.close()
  await t.rejects(late, /closed/)
  await closing
})
