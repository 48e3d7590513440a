import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { many, one, run, type Sql, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import type { Storage } from '../../src/port/storage.ts'
import { testOnPostgres } from '../engines.ts'
import { notes } from '../notes.ts'
import { insertItem, SCHEMA } from '../temporary-storage.ts'
import { type CuttableProxy, startProxy } from './proxy.ts'

const items = sql`SELECT id FROM item ORDER BY id`

/** A storage whose connections can be cut, and the same database by another way. */
async function behindProxy(t: Test, url: string): Promise<{ proxy: CuttableProxy; storage: Storage }> {
  const proxy = await startProxy(t, url)
  const storage = await openStorage({ url: proxy.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  return { proxy, storage }
}

/** Resolves once the storage says it can be used. */
async function usable(storage: Storage): Promise<void> {
  while (storage.trouble !== undefined) await pause(10)
}

testOnPostgres(
  'while the server is away everything fails at once, and works again once it is back',
  async (t, open, url) => {
    await open(SCHEMA)
    const { proxy, storage } = await behindProxy(t, url)
    await storage.transaction(() => run(insertItem(1, 'a')))
    t.equal(storage.trouble, undefined)
    await proxy.cut()
    const unavailable = { name: 'DatabaseError', kind: 'unavailable', message: /cannot be reached/ }
    await t.rejects(storage.many(items), unavailable)
    t.match(storage.trouble, /cannot be reached: .*ECONNREFUSED/)
    await t.rejects(
      storage.transaction(() => run(insertItem(2, 'b'))),
      unavailable,
    )
    await t.rejects(
      storage.snapshot(() => many(items)),
      unavailable,
    )
    await t.rejects(storage.applied(), unavailable)
    await proxy.repair()
    await usable(storage)
    await storage.transaction(() => run(insertItem(3, 'c')))
    t.strictSame(await storage.many(items), [{ id: 1 }, { id: 3 }])
  },
)

testOnPostgres('idle connections that break are noticed without being used', async (t, open, url) => {
  await open(SCHEMA)
  const { proxy, storage } = await behindProxy(t, url)
  await storage.many(items)
  await storage.transaction(() => run(insertItem(1, 'a')))
  await proxy.cut()
  while (storage.trouble === undefined) await pause(10)
  await proxy.repair()
  await usable(storage)
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

testOnPostgres('what breaks before COMMIT is run again, on another connection', async (t, open, url) => {
  await open(SCHEMA)
  const { proxy, storage } = await behindProxy(t, url)
  let runs = 0
  proxy.cutAt('INSERT INTO item', 'delivered')
  await storage.transaction(function* () {
    runs += 1
    yield* many(items)
    yield* run(insertItem(1, 'a'))
  })
  t.equal(runs, 2)
  proxy.cutAt('SELECT id FROM item', 'undelivered')
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

for (const when of ['delivered', 'undelivered'] as const) {
  testOnPostgres(`a COMMIT without a response has an unknown outcome (${when})`, async (t, open, url) => {
    const other = await open(SCHEMA)
    const { proxy, storage } = await behindProxy(t, url)
    proxy.cutAt('COMMIT', when)
    await t.rejects(
      storage.transaction(() => run(insertItem(1, 'a'))),
      { name: 'DatabaseError', kind: 'unknown-outcome', message: /during the commit/ },
    )
    t.equal((await other.many(items)).length, when === 'delivered' ? 1 : 0)
    await usable(storage)
    await storage.transaction(() => run(insertItem(2, 'b')))
  })
}

testOnPostgres('a statement that takes too long is busy, and holds up nobody for good', async (t, open) => {
  const storage = await open(SCHEMA)
  const tooLong = sql`SELECT pg_sleep(60)`
  const results = [storage.many(tooLong), storage.transaction(() => many(tooLong))]
  for (const { status, reason } of (await Promise.allSettled(results)) as PromiseRejectedResult[]) {
    t.match([status, reason], ['rejected', { name: 'DatabaseError', kind: 'busy', message: /timeout/ }])
  }
  t.strictSame(await storage.many(items), [])
})

testOnPostgres('a row that another user has locked is waited for, and then busy', async (t, open) => {
  const storage = await open(SCHEMA)
  await storage.transaction(() => run(insertItem(1, 'a')))
  const locked = Promise.withResolvers<void>()
  const other = storage.transaction(function* () {
    yield* run(sql`UPDATE item SET quantity = 2`)
    locked.resolve()
    yield* many(sql`SELECT pg_sleep(4)`)
  })
  await locked.promise
  await t.rejects(
    storage.transaction(() => run(sql`UPDATE item SET quantity = 3`)),
    { kind: 'busy', message: /lock timeout/ },
  )
  await other
  t.strictSame(await storage.one(sql`SELECT quantity FROM item`), { quantity: 2 })
})

testOnPostgres('transactions lock no small table as a whole', async (t, open) => {
  const rows = "INSERT INTO item SELECT n, 'item ' || n, 1 FROM generate_series(1, 9) AS n; ANALYZE item;"
  const storage = await open(SCHEMA + rows)
  const locked = await storage.transaction(function* () {
    yield* one(sql`SELECT name FROM item WHERE id = 1`)
    yield* run(sql`UPDATE item SET quantity = 2 WHERE name = 'item 2'`)
    // The server looks for the item.
    yield* run(sql`INSERT INTO child (id, item) VALUES (1, 3)`)
    return yield* many<{ kind: string }>(
      sql`SELECT locktype AS kind FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid()`,
    )
  })
  t.ok(locked.length > 0)
  t.notOk(locked.some(({ kind }) => kind === 'relation'))
})

testOnPostgres('more transactions than connections wait their turn', async (t, open) => {
  const storage = await open(SCHEMA)
  await Promise.all(
    Array.from({ length: 100 }, (_, id) => storage.transaction(() => run(insertItem(id, `item ${id}`)))),
  )
  t.strictSame(await storage.one(sql`SELECT count(*) AS n FROM item`), { n: 100 })
})

testOnPostgres(
  'a host has 17 connections that last, as docs/scaling.md counts them',
  async (t, open, url) => {
    const storage = await open(SCHEMA, { outbox: notes })
    t.teardown(storage.onOutbox(() => {}))
    const schema = new URL(url).searchParams.get('schema')
    const sleep = () => many(sql`SELECT pg_sleep(0.05)`)
    const count = async () => {
      const busy = Array.from({ length: 100 }, (_, at) =>
        at % 2 ? storage.transaction(sleep) : storage.many(sql`SELECT pg_sleep(0.01)`),
      )
      // Those of one host say whose they are, but for the one that listens.
      const [{ named, listening }] = (await storage.many<{ named: number; listening: number }>(sql`
        SELECT count(*) FILTER (WHERE application_name = ${`mortise ${schema}`}) AS named,
          count(*) FILTER (WHERE query = 'LISTEN note') AS listening FROM pg_stat_activity`)) as [
        { named: number; listening: number },
      ]
      await Promise.all(busy)
      return { named, listens: listening > 0 }
    }
    let counted = await count()
    while (counted.named < 16 || !counted.listens) counted = await count()
    t.strictSame(counted, { named: 16, listens: true })
    const page = await readFile(new URL('../../../../docs/scaling.md', import.meta.url), 'utf8')
    t.match(
      page,
      /up to 19 connections: 4 for single reads, 12 for transactions, 1 that listens\sfor\sevents/,
    )
  },
)

testOnPostgres('a server without room refuses writes as full, and continues', async (t, open) => {
  const storage = await open(`${SCHEMA}
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON child FOR EACH ROW EXECUTE FUNCTION refuse();`)
  await storage.transaction(() => run(insertItem(1, 'a')))
  t.equal(storage.refusal, undefined)
  await t.rejects(
    storage.transaction(() => run(sql`INSERT INTO child (id, item) VALUES (1, 1)`)),
    { name: 'DatabaseError', kind: 'full', message: /could not extend file/ },
  )
  t.match(storage.refusal, /could not extend file/)
  t.equal(storage.refused, 1)
  t.strictSame(await storage.many(items), [{ id: 1 }])
  await storage.transaction(() => run(insertItem(2, 'b')))
})

testOnPostgres('a snapshot shows one moment, and the next one a later', async (t, open) => {
  const storage = await open(SCHEMA)
  const begun = Promise.withResolvers<void>()
  let inserted = false
  const seen = storage.snapshot(function* () {
    const before = yield* many(items)
    begun.resolve()
    while (!inserted) yield* many(sql`SELECT pg_sleep(0.01)`)
    return [before, yield* many(items)]
  })
  await begun.promise
  await storage.transaction(() => run(insertItem(1, 'a')))
  inserted = true
  t.strictSame(await seen, [[], []])
  t.strictSame(await storage.snapshot(() => one(items)), { id: 1 })
})

testOnPostgres('what cannot be opened says why, without the password', async (t, _open, url) => {
  const cases: [string, RegExp][] = [
    [url.replace(/:\d+\//, ':1/'), /ECONNREFUSED/],
    [url.replace(/:[^:@]+@/, ':wrong-secret@'), /password authentication failed/],
    [url.replace('/mortise?', '/absent?'), /"absent" does not exist/],
  ]
  for (const [wrong, reason] of cases) {
    const error = await openStorage({ url: wrong, onFatal: t.fail }).then(t.fail, (error) => error)
    t.match(error.message, reason)
    t.match(error.message, /cannot be opened/)
    t.notMatch(error.message, /wrong-secret/)
  }
})

testOnPostgres('nobody gets a session that a statement has changed', async (t, open) => {
  const storage = await open()
  const change = sql`SELECT set_config('TimeZone', 'Asia/Tokyo', false) AS zone`
  const zone = sql`SELECT current_setting('TimeZone') AS zone`
  for (const run of [
    (query: Sql) => storage.many(query),
    (query: Sql) => storage.transaction(() => many(query)),
  ]) {
    t.strictSame(await run(change), [{ zone: 'Asia/Tokyo' }])
    t.strictSame(await run(zone), [{ zone: 'UTC' }])
  }
})
