import { type DatabaseError, join, many, one, run, sql, type Transaction } from '@mortise/module-sdk'
import { testOnEngines } from './engines.ts'
import { insertItem, SCHEMA } from './temporary-storage.ts'

// What modules can rely on, whatever the engine.

const items = sql`SELECT id FROM item ORDER BY id`

const insert = (id: number, name = `item ${id}`) =>
  function* (): Transaction<number> {
    yield* run(insertItem(id, name))
    return id
  }

/** Settled promises in short: a result, or the kind or message of an error. */
async function outcomes(promises: Promise<unknown>[]): Promise<unknown[]> {
  return (await Promise.allSettled(promises)).map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason.kind ?? one.reason.message),
  )
}

testOnEngines('reads result rows, one row, none', async (t, open) => {
  const storage = await open(SCHEMA)
  const byId = (id: number) => sql`SELECT name FROM item WHERE id = ${id}`
  await storage.transaction(insert(1, 'a'))
  t.strictSame(await storage.many(byId(1)), [{ name: 'a' }])
  t.strictSame(await storage.many(byId(2)), [])
  t.strictSame(await storage.maybeOne(byId(1)), { name: 'a' })
  t.equal(await storage.maybeOne(byId(2)), undefined)
  t.strictSame(await storage.one(byId(1)), { name: 'a' })
  await t.rejects(storage.one(byId(2)), { name: 'DatabaseError', kind: 'no-row' })
  await t.rejects(storage.many(sql`SELECT missing`), { kind: 'other', message: /missing/ })
})

testOnEngines('many reads at once get their own results, also beside one that fails', async (t, open) => {
  const storage = await open(SCHEMA)
  const reads = Array.from({ length: 200 }, (_, n) =>
    n % 7 === 0 ? storage.many(sql`SELECT missing`) : storage.one<{ n: number }>(sql`SELECT ${n} AS n`),
  )
  t.strictSame(
    await outcomes(reads),
    reads.map((_, n) => (n % 7 === 0 ? 'other' : { n })),
  )
})

testOnEngines('values come out as they went in, and truth as 0 or 1', async (t, open) => {
  const storage = await open('CREATE TABLE thing (text TEXT, number BIGINT, flag INTEGER)')
  const values = [
    { text: "it's ✓ \\ $1 ?", number: Number.MAX_SAFE_INTEGER, flag: 1 },
    { text: '', number: -Number.MAX_SAFE_INTEGER, flag: 0 },
    { text: null, number: null, flag: null },
    { text: '{"a":[1]}', number: 7, flag: 1 },
  ]
  for (const { text, number, flag } of values) {
    await storage.transaction(() => run(sql`INSERT INTO thing VALUES (${text}, ${number}, ${flag})`))
  }
  t.strictSame(await storage.many(sql`SELECT text, number, flag FROM thing`), values)
  const computed = sql`
    SELECT ${5} AS five, ${'a'} AS letter, ${7n} / 2 AS half, 1 = 1 AS true, count(*) AS count, sum(number) AS sum
    FROM thing WHERE number < 100 AND number > 0`
  t.strictSame(await storage.one(computed), { five: 5, letter: 'a', half: 3, true: 1, count: 1, sum: 7 })
})

testOnEngines('an integer that a number cannot hold fails its statement', async (t, open) => {
  const storage = await open('CREATE TABLE thing (number BIGINT)')
  const large = 2n ** 53n
  await storage.transaction(() => run(sql`INSERT INTO thing VALUES (${large})`))
  await t.rejects(storage.many(sql`SELECT number FROM thing`), { kind: 'other', message: /would be rounded/ })
  t.strictSame(await storage.one(sql`SELECT CAST(number AS TEXT) AS number FROM thing`), {
    number: `${large}`,
  })
})

testOnEngines('a query may be composed, with lists as long as they come', async (t, open) => {
  const storage = await open(SCHEMA)
  for (const size of [1, 3, 400]) {
    const rows = Array.from({ length: size }, (_, n) => sql`(${n + 1}, ${`name ${n}`}, ${n + 1})`)
    await storage.transaction(function* () {
      yield* run(sql`DELETE FROM item`)
      yield* run(sql`INSERT INTO item (id, name, quantity) VALUES ${join(rows)}`)
    })
    const ids = join([1, size].map((id) => sql`${id}`))
    t.strictSame(await storage.one(sql`SELECT count(*) AS n FROM item WHERE id IN (${ids})`), {
      n: size === 1 ? 1 : 2,
    })
  }
})

testOnEngines('a step that is made and never run fails its transaction, and no other', async (t, open) => {
  const storage = await open(SCHEMA)
  const forgetful = function* () {
    yield* run(insertItem(1, '1'))
    run(insertItem(2, '2'))
    yield* many(items)
  }
  const forgotten = {
    name: 'TypeError',
    message: /never ran it: write yield\* before the step: INSERT INTO item/,
  }
  const outcomes = await Promise.allSettled([
    storage.transaction(forgetful),
    storage.transaction(insert(3)),
    storage.transaction(forgetful),
    storage.transaction(function* () {
      const later = run(insertItem(4, '4'))
      yield* run(insertItem(5, '5'))
      yield* later
    }),
  ])
  t.match(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined)),
    [forgotten, undefined, forgotten, undefined],
  )
  t.strictSame(await storage.many(items), [{ id: 3 }, { id: 4 }, { id: 5 }])
  await t.rejects(
    storage.snapshot(function* () {
      many(items)
      return yield* one(sql`SELECT count(*) AS n FROM item`)
    }),
    { message: /SELECT id FROM item/ },
  )
  await storage.transaction(() => run(insertItem(6, '6')))
})

testOnEngines('reads and snapshots do not write', async (t, open) => {
  const storage = await open(SCHEMA)
  const write = insertItem(1, 'a')
  for (const attempt of [
    () => storage.many(write),
    () => storage.maybeOne(write),
    () => storage.one(sql`DELETE FROM item RETURNING id`),
    () => storage.snapshot(() => run(write)),
    () => storage.many(sql`CREATE TEMP TABLE a (b INTEGER)`),
  ]) {
    await t.rejects(attempt(), { kind: 'read-only', message: /use a transaction/ })
  }
  t.strictSame(await storage.many(items), [])
})

testOnEngines('a query is one statement', async (t, open) => {
  const storage = await open(SCHEMA)
  const query = sql`SELECT 1; SELECT 2`
  const refusal = { name: 'DatabaseError', kind: 'refused' }
  await t.rejects(storage.many(query), refusal)
  await t.rejects(
    storage.transaction(() => run(query)),
    refusal,
  )
})

testOnEngines('constraint errors have a kind', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(insert(1, 'a'))
  const cases: [string, ReturnType<typeof sql>][] = [
    ['unique', insertItem(1, 'b')],
    ['unique', insertItem(2, 'a')],
    ['check', insertItem(2, 'b', 0)],
    ['not-null', sql`INSERT INTO item (id, name, quantity) VALUES (2, NULL, 1)`],
    ['foreign-key', sql`INSERT INTO child VALUES (1, 99)`],
    ['foreign-key', sql`INSERT INTO late VALUES (1, 99)`],
    ['other', sql`INSERT INTO nothing VALUES (1)`],
  ]
  for (const [kind, query] of cases) {
    await t.rejects(
      storage.transaction(() => run(query)),
      { name: 'DatabaseError', kind },
    )
  }
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

testOnEngines('each step gets its result, and the transaction its result', async (t, open) => {
  const storage = await open(SCHEMA)
  const result = await storage.transaction(function* () {
    const changed = yield* run(insertItem(1, 'a'))
    const found = yield* run(sql`SELECT * FROM item`)
    const [returned] = yield* many(sql`UPDATE item SET quantity = quantity + ${1} RETURNING quantity`)
    return [
      changed,
      found,
      returned,
      yield* many(insertItem(2, 'b')),
      yield* one(sql`SELECT count(*) AS n FROM item`),
    ]
  })
  t.strictSame(result, [1, 0, { quantity: 2 }, [], { n: 2 }])
  t.equal(
    // biome-ignore lint/correctness/useYield: a transaction without a statement
    await storage.transaction(function* (): Transaction<string> {
      return 'nothing'
    }),
    'nothing',
  )
})

testOnEngines('a failed transaction is undone and rejects alone', async (t, open) => {
  const storage = await open(SCHEMA)
  const mine = new Error('mine')
  await storage.transaction(insert(1))
  const promises = [
    storage.transaction(function* () {
      yield* run(insertItem(2, 'two'))
      yield* run(insertItem(1, 'one'))
    }),
    storage.transaction(function* () {
      yield* run(insertItem(3, 'three'))
      throw mine
    }),
    storage.transaction(() => {
      throw mine
    }),
    storage.transaction(insert(4, 'four')),
    storage.transaction((async () => {}) as never),
  ]
  t.match(await outcomes(promises), ['unique', 'mine', 'mine', 4, /takes a generator/])
  t.strictSame(await storage.many(items), [{ id: 1 }, { id: 4 }])
})

testOnEngines('the error of a statement can be caught: it alone is undone', async (t, open) => {
  const storage = await open(SCHEMA)
  const kinds = await storage.transaction(function* () {
    const kinds: string[] = []
    for (const query of [
      insertItem(1, 'a'),
      insertItem(1, 'b'),
      sql`SELECT 1; SELECT 2`,
      sql`SELECT nothing`,
      insertItem(2, 'c'),
    ]) {
      try {
        yield* run(query)
        kinds.push('none')
      } catch (error) {
        kinds.push((error as DatabaseError).kind)
      }
    }
    return kinds
  })
  t.strictSame(kinds, ['none', 'unique', 'refused', 'other', 'none'])
  t.strictSame(await storage.many(items), [{ id: 1 }, { id: 2 }])
})

testOnEngines('the last statement may fail and be caught', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(function* () {
    yield* run(insertItem(1, 'a'))
    try {
      yield* run(insertItem(1, 'b'))
    } catch {}
  })
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

testOnEngines('a finally block may write, and the error still undoes everything', async (t, open) => {
  const storage = await open(SCHEMA)
  const mine = new Error('mine')
  await t.rejects(
    storage.transaction(function* () {
      try {
        yield* run(sql`SELECT nothing`)
      } catch {
        throw mine
      } finally {
        yield* run(insertItem(1, 'a'))
      }
    }),
    mine,
  )
  t.strictSame(await storage.many(items), [])
})

testOnEngines('a snapshot that fails leaves the storage usable', async (t, open) => {
  const storage = await open(SCHEMA)
  const mine = new Error('mine')
  await t.rejects(
    storage.snapshot(function* () {
      yield* many(items)
      throw mine
    }),
    mine,
  )
  await t.rejects(storage.snapshot((() => 1) as never), { name: 'TypeError' })
  await storage.transaction(insert(1, 'a'))
  t.strictSame(await storage.snapshot(() => many(items)), [{ id: 1 }])
})

testOnEngines('increments that race are all counted', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(insert(1, 'a'))
  const increment = () =>
    storage.transaction(function* () {
      const { quantity } = yield* one<{ quantity: number }>(sql`SELECT quantity FROM item WHERE id = 1`)
      yield* run(sql`UPDATE item SET quantity = ${quantity + 1} WHERE id = 1`)
    })
  await Promise.all(Array.from({ length: 8 }, increment))
  t.strictSame(await storage.one(sql`SELECT quantity FROM item`), { quantity: 9 })
})

testOnEngines('two that would each break a rule together: one sees the other', async (t, open) => {
  const storage = await open(SCHEMA)
  const addUnlessThere = (id: number) =>
    storage.transaction(function* () {
      const { n } = yield* one<{ n: number }>(sql`SELECT count(*) AS n FROM item`)
      if (n === 0) yield* run(insertItem(id, `item ${id}`))
    })
  await Promise.all([1, 2, 3, 4].map(addUnlessThere))
  t.equal((await storage.many(items)).length, 1)
})

testOnEngines('a rehearsal runs each transaction once more, and keeps the last', async (t, open) => {
  const storage = await open(SCHEMA, { rehearse: true })
  let runs = 0
  const counted = () => {
    runs += 1
    return run(insertItem(1, 'a'))
  }
  t.equal(await storage.transaction(counted), 1)
  t.equal(runs, 2)
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

testOnEngines('close() finishes what has begun', async (t, open) => {
  const storage = await open(SCHEMA)
  const begun = [1, 2, 3].map((id) => storage.transaction(insert(id)))
  const read = storage.many(sql`SELECT 1 AS one`)
  const closing = storage.close()
  t.equal(storage.close(), closing, 'it may be repeated')
  const closed = { name: 'DatabaseError', message: /closed/ }
  await t.rejects(storage.transaction(insert(4)), closed)
  t.strictSame(await Promise.all(begun), [1, 2, 3])
  t.strictSame(await read, [{ one: 1 }])
  await closing
  await t.rejects(storage.many(items), closed)
  await t.rejects(
    storage.snapshot(() => many(items)),
    closed,
  )
  await t.rejects(storage.migrate([]), closed)
})

testOnEngines('a snapshot ends when it has taken its time, wherever it runs', async (t, open) => {
  const storage = await open(SCHEMA)
  function* endless(): Transaction<never> {
    for (;;) yield* many(items)
  }
  for (const long of [true, false])
    await t.rejects(storage.snapshot(endless, { long, within: 30 }), {
      name: 'DatabaseError',
      kind: 'too-long',
    })
  t.strictSame(await storage.snapshot(() => many(items), { long: true, within: 60_000 }), [])
})
