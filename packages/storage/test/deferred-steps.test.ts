import { type DatabaseError, many, one, run, send, sql, type Transaction } from '@mortise/module-sdk'
import { openStorage } from '../src/open-storage.ts'
import { testOnEngines, testOnPostgres } from './engines.ts'
import { startProxy } from './postgres/proxy.ts'
import { insertItem, SCHEMA } from './temporary-storage.ts'

// PostgreSQL gets a step that nobody waits for together with a later one. Nobody sees the difference.

const items = sql`SELECT id FROM item ORDER BY id`

/** The kind of the error of these steps; undefined without one. */
function* kindOf(steps: Transaction<unknown>): Transaction<string | undefined> {
  try {
    yield* steps
  } catch (error) {
    return (error as DatabaseError).kind
  }
  return undefined
}

testOnEngines('the error of a step without a result is thrown where the step is', async (t, open) => {
  const storage = await open(SCHEMA)
  const kinds = await storage.transaction(function* () {
    yield* send(insertItem(1, 'a'))
    const first = yield* kindOf(send(insertItem(1, 'b')))
    yield* send(insertItem(2, 'b'))
    const last = yield* kindOf(send(insertItem(3, 'c', 0)))
    return [first, last]
  })
  t.strictSame(kinds, ['unique', 'check'])
  t.strictSame(await storage.many(items), [{ id: 1 }, { id: 2 }])
})

testOnEngines('a step without a result that fails undoes everything', async (t, open) => {
  const storage = await open(SCHEMA)
  const steps = [
    [insertItem(1, 'a'), insertItem(1, 'b')],
    [insertItem(1, 'b'), insertItem(1, 'a'), insertItem(2, 'c')],
  ]
  for (const queries of steps) {
    const work = storage.transaction(function* () {
      for (const query of queries) yield* send(query)
    })
    await t.rejects(work, { name: 'DatabaseError', kind: 'unique', message: /INSERT INTO item/ })
  }
  t.strictSame(await storage.many(items), [])
})

testOnEngines('a step that failed comes before what the generator throws afterwards', async (t, open) => {
  const storage = await open(SCHEMA)
  const mine = new Error('mine')
  await t.rejects(
    storage.transaction(function* () {
      yield* send(insertItem(1, 'a', 0))
      throw mine
    }),
    { name: 'DatabaseError', kind: 'check' },
  )
  await t.rejects(
    storage.transaction(function* () {
      yield* send(insertItem(1, 'a'))
      throw mine
    }),
    mine,
  )
  t.strictSame(await storage.many(items), [])
})

testOnEngines('a result that was not expected is the result', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(() => run(insertItem(1, 'a')))
  const vanished = new Error('vanished')
  function* raise(id: number): Transaction<number> {
    const query = sql`UPDATE item SET quantity = quantity + 1 WHERE id = ${id}`
    const changes = (yield { query, want: 'changes', expected: 1 }) as number
    if (changes === 0) throw vanished
    return changes
  }
  t.equal(await storage.transaction(() => raise(1)), 1)
  for (const after of [
    // biome-ignore lint/correctness/useYield: there is no further step
    function* () {
      throw new Error('later')
    },
    () => run(insertItem(2, 'b')),
    () => run(insertItem(1, 'it is there already')),
    () => send(insertItem(2, 'b')),
  ]) {
    const work = storage.transaction(function* () {
      yield* raise(9)
      yield* after()
    })
    await t.rejects(work, vanished)
  }
  const rows = sql`SELECT quantity FROM item`
  const seen = storage.transaction(function* () {
    return yield { query: rows, want: 'rows', expected: [{ quantity: 7 }] }
  })
  t.strictSame(await seen, [{ quantity: 2 }])
})

testOnEngines('a snapshot refuses a write without a result', async (t, open) => {
  const storage = await open(SCHEMA)
  const write = () => send(insertItem(1, 'a'))
  await t.rejects(storage.snapshot(write), { kind: 'read-only', message: /use a transaction/ })
  t.strictSame(await storage.many(items), [])
})

testOnEngines('increments that race are all counted, though nobody waits for them', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(() => send(insertItem(1, 'a')))
  const increment = () =>
    storage.transaction(function* () {
      const { quantity } = yield* one<{ quantity: number }>(sql`SELECT quantity FROM item WHERE id = 1`)
      yield* send(sql`UPDATE item SET quantity = ${quantity + 1} WHERE id = 1`)
    })
  await Promise.all(Array.from({ length: 8 }, increment))
  t.strictSame(await storage.one(sql`SELECT quantity FROM item`), { quantity: 9 })
})

testOnPostgres('a step that takes too long is caught where it is, and not tried again', async (t, open) => {
  const storage = await open(`${SCHEMA} CREATE SEQUENCE tries;`)
  const kind = await storage.transaction(function* () {
    yield* send(insertItem(1, 'a'))
    const found = yield* kindOf(send(sql`SELECT nextval('tries'), pg_sleep(60)`))
    yield* run(insertItem(2, 'b'))
    return found
  })
  t.equal(kind, 'busy')
  t.strictSame(await storage.many(items), [{ id: 1 }, { id: 2 }])
  t.strictSame(await storage.one(sql`SELECT last_value AS tries FROM tries`), { tries: 1 })
})

testOnPostgres('a warning of a statement beside COMMIT says nothing about the commit', async (t, open) => {
  const storage = await open(`${SCHEMA}
    CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'new'; RETURN NEW; END $$;
    CREATE TRIGGER warn BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION warn();`)
  await storage.transaction(() => send(insertItem(1, 'a')))
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

for (const when of ['delivered', 'undelivered'] as const) {
  testOnPostgres(`a connection that breaks at any batch of a transaction (${when})`, async (t, open, url) => {
    const other = await open(SCHEMA)
    const proxy = await startProxy(t, url)
    const storage = await openStorage({ url: proxy.url, onFatal: t.fail })
    t.teardown(() => storage.close())
    let runs = 0
    const work = () =>
      storage.transaction(function* () {
        runs += 1
        yield* send(insertItem(runs, `first ${runs}`))
        yield* many(items)
        yield* send(insertItem(100 + runs, `last ${runs}`))
      })
    proxy.cutAt('first ', when)
    await work()
    t.equal(runs, 2, 'nothing was committed: it ran again')
    t.strictSame(await other.many(items), [{ id: 2 }, { id: 102 }])
    proxy.cutAt('last ', when)
    await t.rejects(work(), { kind: 'unknown-outcome', message: /during the commit/ })
    t.equal(runs, 3)
    const third = when === 'delivered' ? [{ id: 3 }] : []
    t.strictSame(await other.many(sql`SELECT id FROM item WHERE id = 3`), third)
    t.strictSame(await other.many(sql`SELECT id - 100 AS id FROM item WHERE id = 103`), third)
  })
}
