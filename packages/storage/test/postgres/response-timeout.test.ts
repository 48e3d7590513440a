import { setTimeout as pause } from 'node:timers/promises'
import { many, run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import type { Storage } from '../../src/port/storage.ts'
import { testOnPostgres } from '../engines.ts'
import { insertItem, SCHEMA } from '../temporary-storage.ts'
import { startProxy } from './proxy.ts'
import { startPostgres } from './start-postgres.ts'

/** By docs/scaling.md, in milliseconds; the rest is for a machine that is busy. */
const NOTICED = 3_000 + 1_000

const items = sql`SELECT id FROM item ORDER BY id`

/** How each of these ends, and after how many milliseconds. */
const ends = (works: readonly Promise<unknown>[]) => {
  const begun = performance.now()
  return Promise.all(
    works.map((work) =>
      work.then(
        () => ({ kind: 'done', after: performance.now() - begun }),
        ({ kind }) => ({ kind, after: performance.now() - begun }),
      ),
    ),
  )
}

async function usable(storage: Storage): Promise<void> {
  const begun = performance.now()
  while (storage.trouble !== undefined) await pause(10)
  t.ok(performance.now() - begun < 5_000, 'it is used again within 5 s')
}

testOnPostgres('what is swallowed on the way fails soon, and all works again after', async (t, open, url) => {
  await open(SCHEMA)
  const proxy = await startProxy(t, url)
  const storage = await openStorage({ url: proxy.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => run(insertItem(1, 'a')))
  await storage.many(items)
  proxy.blackhole()
  const ended = await ends([
    storage.many(items),
    storage.transaction(() => run(insertItem(2, 'b'))),
    storage.snapshot(() => many(items)),
  ])
  for (const { kind, after } of ended) {
    t.equal(kind, 'unavailable')
    t.ok(after < NOTICED, `after ${after} ms`)
  }
  t.match(storage.trouble, /does not respond|timeout/)
  const [refused] = await ends([storage.many(items)])
  t.equal(refused?.kind, 'unavailable')
  t.ok((refused?.after ?? 0) < 100, 'at once')
  await proxy.repair()
  await usable(storage)
  await storage.transaction(() => run(insertItem(3, 'c')))
  t.strictSame(await storage.many(items), [{ id: 1 }, { id: 3 }])
})

testOnPostgres('a COMMIT that is swallowed has an unknown outcome, and soon', async (t, open, url) => {
  await open(SCHEMA)
  const proxy = await startProxy(t, url)
  const storage = await openStorage({ url: proxy.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => run(insertItem(1, 'a')))
  const writing = storage.transaction(function* () {
    yield* run(insertItem(2, 'b'))
    proxy.blackhole()
  })
  const [ended] = await ends([writing])
  t.equal(ended?.kind, 'unknown-outcome')
  t.ok((ended?.after ?? 0) < NOTICED)
})

testOnPostgres(
  'a statement that takes long is no silence, also on a way that is slow',
  async (t, open, url) => {
    await open(SCHEMA)
    const proxy = await startProxy(t, url)
    proxy.delay(25)
    const storage = await openStorage({ url: proxy.url, onFatal: t.fail })
    t.teardown(() => storage.close())
    const slow = storage.many(sql`SELECT pg_sleep(4)`)
    let isDone = false
    slow.finally(() => {
      isDone = true
    })
    while (!isDone && storage.trouble === undefined) await pause(5)
    t.equal(storage.trouble, undefined)
    await slow
  },
)

testOnPostgres('a process that was busy has heard what came meanwhile', async (t, open) => {
  const storage = await open(SCHEMA)
  const reading = [storage.many(items), storage.transaction(() => run(insertItem(1, 'a')))]
  const begun = performance.now()
  while (performance.now() - begun < 3_000);
  await Promise.all(reading)
  t.equal(storage.trouble, undefined)
})

t.test('a stopped server is unavailable, and is used again when it continues', async (t) => {
  const server = await startPostgres({ durable: false })
  t.teardown(() => server.stop())
  const storage = await openStorage({ url: server.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => run(sql`CREATE TABLE item (id BIGINT PRIMARY KEY)`))
  await server.freeze()
  const [ended] = await ends([storage.many(items)])
  t.match(ended, { kind: 'unavailable' })
  t.ok((ended?.after ?? 0) < NOTICED)
  server.thaw()
  await usable(storage)
  t.strictSame(await storage.many(items), [])
})
