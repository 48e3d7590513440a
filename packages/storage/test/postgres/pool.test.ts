import { setTimeout as pause } from 'node:timers/promises'
import { many, run, sql } from '@mortise/module-sdk'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import type { Storage } from '../../src/port/storage.ts'
import { notes } from '../notes.ts'
import { startPostgres, type TestPostgres } from './start-postgres.ts'

const MAX_CONNECTIONS = 20

async function openSeveral(t: Test, server: TestPostgres, count: number): Promise<Storage[]> {
  const storages: Storage[] = []
  for (let index = 0; index < count; index++) {
    const storage = await openStorage({ url: server.url, outbox: notes, onFatal: t.fail })
    t.teardown(() => storage.close())
    storages.push(storage)
  }
  return storages
}

t.test('three hosts share a server that has not enough connections for them', async (t) => {
  const server = await startPostgres({ durable: false, maxConnections: MAX_CONNECTIONS })
  t.teardown(() => server.stop())
  const storages = await openSeveral(t, server, 3)
  await storages[0]?.transaction(() => run(sql`CREATE TABLE written (id TEXT PRIMARY KEY)`))
  const stops = storages.map((storage) => storage.onOutbox(() => {}))
  t.teardown(() => Promise.all(stops.map((stop) => stop())))
  let done = 0
  const end = performance.now() + 2_000
  const failures: string[] = []
  const work = async (storage: Storage, name: string) => {
    for (let number = 0; performance.now() < end; number++) {
      try {
        await (number % 2
          ? storage.transaction(() => run(sql`INSERT INTO written VALUES (${`${name} ${number}`})`))
          : storage.many(sql`SELECT pg_sleep(0.001)`))
        done += 1
      } catch (error) {
        failures.push((error as Error).message)
      }
      if (storage.trouble !== undefined) failures.push(storage.trouble)
    }
  }
  await Promise.all(
    storages.flatMap((storage, host) =>
      Array.from({ length: 40 }, (_, at) => work(storage, `${host} ${at}`)),
    ),
  )
  t.strictSame(failures.slice(0, 3), [])
  t.ok(done > 100, `${done} were done`)
})

t.test('a host without any connection is unavailable until it gets one', async (t) => {
  const server = await startPostgres({ durable: false, maxConnections: MAX_CONNECTIONS })
  t.teardown(() => server.stop())
  const [storage] = (await openSeveral(t, server, 1)) as [Storage]
  const read = () => storage.transaction(() => many(sql`SELECT 1 AS one`))
  await read()
  const taken: Client[] = []
  const take = async () => {
    for (;;) {
      const client = new Client({ connectionString: server.url })
      client.on('error', () => {})
      try {
        await client.connect()
        taken.push(client)
      } catch {
        return
      }
    }
  }
  await take()
  t.strictSame(await read(), [{ one: 1 }], 'it continues with the one that it has')
  // Who comes first to what becomes free is chance.
  while (storage.trouble === undefined) {
    await taken[0]?.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mortise %'`,
    )
    await take()
    await read().catch(() => {})
  }
  t.match(storage.trouble, /too many clients already: raise max_connections, or lower connection_limit/)
  await t.rejects(read(), { name: 'DatabaseError', kind: 'unavailable' })
  await Promise.all(taken.map((client) => client.end()))
  while (storage.trouble !== undefined) await pause(10)
  t.strictSame(await read(), [{ one: 1 }])
})

t.test('a transaction that waits too long for a connection is busy', async (t) => {
  const server = await startPostgres({ durable: false })
  t.teardown(() => server.stop())
  const storage = await openStorage({ url: `${server.url}?connection_limit=5`, onFatal: t.fail })
  t.teardown(() => storage.close())
  const sleep = () => storage.transaction(() => many(sql`SELECT pg_sleep(3)`))
  const sleeps = await Promise.allSettled([sleep(), sleep(), sleep()])
  t.match(sleeps, [{ status: 'fulfilled' }, { status: 'fulfilled' }, { status: 'rejected' }])
  const message = /no connection to the database became free within 5 s/
  t.match(sleeps[2], { reason: { name: 'DatabaseError', kind: 'busy', message } })
})
