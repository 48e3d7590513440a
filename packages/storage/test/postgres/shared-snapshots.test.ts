import { many, run, sql } from '@mortise/module-sdk'
import { testOnPostgres } from '../engines.ts'
import { insertItem, SCHEMA } from '../temporary-storage.ts'

const items = sql`SELECT id FROM item ORDER BY id`

testOnPostgres('snapshots that begin together share a transaction', async (t, open) => {
  const storage = await open(SCHEMA)
  const begun = () => many(sql`SELECT pg_backend_pid() AS id, extract(epoch FROM now())::text AS begun`)
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => storage.snapshot(begun)))
  for (const other of others) t.strictSame(other, first)
  t.notSame(await storage.snapshot(begun), first, 'a later one has its own')
  const [long, short] = await Promise.all([storage.snapshot(begun, { long: true }), storage.snapshot(begun)])
  t.notSame(long, short, 'nobody waits for a long one')
})

testOnPostgres('however many long reads there are, a short one finds a connection', async (t, open) => {
  const storage = await open(SCHEMA)
  let ended = 0
  const long = Array.from({ length: 16 }, () =>
    storage
      .snapshot(() => many(sql`SELECT pg_sleep(1)::text AS slept`), { long: true })
      .finally(() => {
        ended += 1
      }),
  )
  await storage.snapshot(() => many(items))
  t.equal(ended, 0)
  await Promise.all(long)
})

testOnPostgres('a snapshot has what was committed before it began, also beside others', async (t, open) => {
  const storage = await open(SCHEMA)
  const known: number[] = []
  const seesAll = async (id: number) => {
    await storage.transaction(() => run(insertItem(id, `item ${id}`)))
    known.push(id)
    const expected = [...known]
    const seen = await storage.snapshot(function* () {
      const before = yield* many<{ id: number }>(items)
      return [before, yield* many<{ id: number }>(items)] as const
    })
    t.strictSame(seen[1], seen[0], 'one moment')
    const ids = new Set(seen[0].map((row) => row.id))
    t.ok(expected.every((one) => ids.has(one)))
  }
  await Promise.all(Array.from({ length: 30 }, (_, id) => seesAll(id)))
})

testOnPostgres('a snapshot that fails affects none that began with it', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(() => run(insertItem(1, 'a')))
  const missing = sql`SELECT * FROM missing`
  const mine = new Error('mine')
  const outcomes = await Promise.allSettled([
    storage.snapshot(() => many(items)),
    storage.snapshot(() => many(missing)),
    storage.snapshot(() => run(insertItem(2, 'b'))),
    storage.snapshot(function* () {
      yield* many(items)
      throw mine
    }),
    storage.snapshot(function* () {
      try {
        return yield* many(missing)
      } catch {
        return yield* many(items)
      }
    }),
    storage.snapshot(() => many(items)),
  ])
  const value = [{ id: 1 }]
  t.match(outcomes, [
    { value },
    { reason: { name: 'DatabaseError', kind: 'other', message: /missing/ } },
    { reason: { name: 'DatabaseError', kind: 'read-only' } },
    { reason: mine },
    { value },
    { value },
  ])
  t.strictSame(await storage.snapshot(() => many(items)), value)
})
