import { setTimeout as pause } from 'node:timers/promises'
import { type DatabaseError, run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { startProxy } from './proxy.ts'
import { startPostgres } from './start-postgres.ts'

const WRITERS = 8

t.test('acknowledged writes survive a kill of the server at any moment', async (t) => {
  const server = await startPostgres({ durable: true })
  t.teardown(() => server.stop())
  const storage = await openStorage({ url: server.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => run(sql`CREATE TABLE written (id BIGINT PRIMARY KEY)`))

  const acknowledged: number[] = []
  const failures = new Set<string>()
  let next = 1
  let writing = true
  const writers = Array.from({ length: WRITERS }, async () => {
    while (writing) {
      const id = next++
      try {
        await storage.transaction(() => run(sql`INSERT INTO written VALUES (${id})`))
        acknowledged.push(id)
      } catch (error) {
        failures.add((error as DatabaseError).kind)
        // Others have their turn.
        await pause(1)
      }
    }
  })
  const moreThan = async (count: number) => {
    while (acknowledged.length <= count) await pause(5)
  }
  for (const killAfter of [10, 1, 100]) {
    await moreThan(acknowledged.length + killAfter)
    await server.kill()
    while (storage.trouble === undefined) await pause(5)
    await server.restart()
    const back = performance.now()
    await moreThan(acknowledged.length)
    t.ok(performance.now() - back < 5_000, 'it is written again within 5 s')
  }
  writing = false
  await Promise.all(writers)
  const there = new Set((await storage.many<{ id: number }>(sql`SELECT id FROM written`)).map(({ id }) => id))
  t.strictSame(
    acknowledged.filter((id) => !there.has(id)),
    [],
  )
  t.strictSame(
    [...failures].filter((kind) => !['unavailable', 'unknown-outcome', 'busy'].includes(kind)),
    [],
  )
  t.ok(failures.has('unavailable'))
})

t.test('a write that a synchronous standby may lack is not acknowledged', async (t) => {
  const server = await startPostgres({ durable: false })
  t.teardown(() => server.stop())
  const storage = await openStorage({ url: server.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => run(sql`CREATE TABLE written (id BIGINT PRIMARY KEY)`))
  await server.query(`ALTER SYSTEM SET synchronous_standby_names = 'away'`)
  await server.query('SELECT pg_reload_conf()')
  const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  let outcome: unknown
  // The server takes up the setting a moment later: until then it acknowledges.
  for (let id = 1; outcome === undefined; id += 1) {
    let isWriting = true
    const writing = storage
      .transaction(() => run(sql`INSERT INTO written VALUES (${id})`))
      .then(
        () => undefined,
        (error) => error,
      )
      .finally(() => {
        isWriting = false
      })
    while (isWriting && (await server.query(cancel)).rowCount === 0) await pause(5)
    outcome = await writing
  }
  t.match(outcome, {
    name: 'DatabaseError',
    kind: 'unknown-outcome',
    message: /a failover may lose it: .*synchronous/,
  })
})

for (const way of ['an address that moves', 'a URL that names both'] as const) {
  t.test(`a standby that is promoted has all that was acknowledged, by ${way}`, async (t) => {
    const primary = await startPostgres({ durable: false })
    t.teardown(() => primary.stop())
    const standby = await primary.startStandby()
    t.teardown(() => standby.stop())
    const proxy = await startProxy(t, primary.url)
    const both = standby.url.replace(/@([^/]+)/, `@$1,${new URL(primary.url).host}`)
    const url = way === 'a URL that names both' ? both : proxy.url
    const storage = await openStorage({ url, onFatal: t.fail })
    t.teardown(() => storage.close())
    await storage.transaction(() => run(sql`CREATE TABLE written (id BIGINT PRIMARY KEY)`))
    const write = (id: number) => storage.transaction(() => run(sql`INSERT INTO written VALUES (${id})`))
    const read = () => storage.many<{ id: number }>(sql`SELECT id FROM written ORDER BY id`)
    await Promise.all([1, 2, 3].map(write))

    await primary.kill()
    proxy.point(standby.url)
    while (!storage.trouble?.includes('standby')) await pause(5)
    const unavailable = { name: 'DatabaseError', kind: 'unavailable', message: /it is a read-only standby/ }
    await t.rejects(write(4), unavailable)
    await t.rejects(read(), unavailable)

    await standby.promote()
    const promoted = performance.now()
    while (storage.trouble !== undefined) await pause(5)
    await write(5)
    t.ok(performance.now() - promoted < 5_000, 'it is written again within 5 s')
    t.strictSame(await read(), [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 5 }])
  })
}
