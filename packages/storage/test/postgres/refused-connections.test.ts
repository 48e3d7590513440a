import { setTimeout as pause } from 'node:timers/promises'
import { many, run, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import type { Storage } from '../../src/port/storage.ts'
import { temporarySchema, testOnPostgres } from '../engines.ts'
import { SCHEMA } from '../temporary-storage.ts'
import { ownRole } from './own-role.ts'
import { startProxy } from './proxy.ts'

const sleep = sql`SELECT pg_sleep(0.05)`

/** Asks for more connections than are open, until one is refused. */
async function untilRefused(t: Test, storage: Storage): Promise<void> {
  while (storage.newConnections.refusal === undefined) await demand(t, storage)
}

/** Reads and writes that need several connections to go on at once: all of them succeed. */
async function demand(t: Test, storage: Storage): Promise<void> {
  const work = Array.from({ length: 12 }, (_, at) =>
    at % 2 ? storage.many(sleep) : storage.transaction(() => many(sleep)),
  )
  const failed = (await Promise.allSettled(work)).filter(({ status }) => status === 'rejected')
  t.strictSame([failed, storage.trouble], [[], undefined])
}

const REFUSALS: [name: string, change: (role: string) => string, back: (role: string) => string, RegExp][] = [
  [
    'a changed password',
    (role) => `ALTER ROLE ${role} PASSWORD 'new'`,
    (role) => `ALTER ROLE ${role} PASSWORD 'secret'`,
    /refuses the connection: password authentication failed/,
  ],
  [
    'a role that may not log in',
    (role) => `ALTER ROLE ${role} NOLOGIN`,
    (role) => `ALTER ROLE ${role} LOGIN`,
    /not permitted to log in/,
  ],
  [
    'a limit of connections',
    (role) => `ALTER ROLE ${role} CONNECTION LIMIT 1`,
    (role) => `ALTER ROLE ${role} CONNECTION LIMIT -1`,
    /too many connections for role/,
  ],
]

for (const [name, change, back, reason] of REFUSALS) {
  testOnPostgres(`the open connections serve in spite of ${name}`, async (t, _open, _url) => {
    const { url, role, execute } = await ownRole(t, await temporarySchema(t))
    const storage = await openStorage({ url, onFatal: t.fail })
    t.teardown(() => storage.close())
    await storage.transaction(() => run(sql`CREATE TABLE item (id BIGINT)`))
    await storage.many(sql`SELECT 1`)
    await execute(change(role))
    await untilRefused(t, storage)
    t.match(storage.newConnections.refusal, reason)
    t.ok(storage.newConnections.refused > 0)
    for (let number = 0; number < 5; number++) await demand(t, storage)
    await execute(back(role))
    while (storage.newConnections.refusal !== undefined) await pause(10)
    await demand(t, storage)
    t.equal(storage.newConnections.refusal, undefined)
  })
}

testOnPostgres('every refused connection is counted, also while the open ones are enough', async (t) => {
  const { url, role, execute } = await ownRole(t, await temporarySchema(t))
  const storage = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.many(sql`SELECT 1`)
  await execute(`ALTER ROLE ${role} PASSWORD 'new'`)
  await t.rejects(storage.copyTo(`${t.testdirName}.db`), /password authentication failed/)
  const { refused } = storage.newConnections
  t.ok(refused > 0)
  while (storage.newConnections.refused === refused) await pause(10)
  t.equal(storage.trouble, undefined)
})

testOnPostgres('a new password is taken up from the settings', async (t) => {
  const { url, role, execute } = await ownRole(t, await temporarySchema(t))
  let present = url
  const storage = await openStorage({ url, onFatal: t.fail, renewUrl: async () => present })
  t.teardown(() => storage.close())
  await storage.transaction(() => many(sleep))
  await execute(`ALTER ROLE ${role} PASSWORD 'new'`)
  await untilRefused(t, storage)
  present = url.replace('/mortise?', '/postgres?').replace(':secret@', ':new@')
  await demand(t, storage)
  t.ok(storage.newConnections.refusal, 'not those of another database')
  present = url.replace(':secret@', ':new@')
  while (storage.newConnections.refusal !== undefined) await pause(10)
  await demand(t, storage)
  await execute(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`)
  while (storage.trouble === undefined && (await storage.many(sleep).catch(() => undefined)) === undefined) {}
  while (storage.trouble !== undefined) await pause(10)
  t.equal((await storage.many(sql`SELECT 1 AS one`)).length, 1, 'all connections are with the new one')
})

testOnPostgres('the open connections serve while no others can be made', async (t, open, url) => {
  await open(SCHEMA)
  const proxy = await startProxy(t, url)
  const storage = await openStorage({ url: proxy.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => many(sleep))
  await storage.many(sleep)
  proxy.refuse()
  await untilRefused(t, storage)
  t.match(storage.newConnections.refusal, /ECONNREFUSED/)
  await demand(t, storage)
  await proxy.cut()
  while (storage.trouble === undefined) await pause(10)
  t.equal(storage.newConnections.refusal, undefined, 'an outage is one')
  await proxy.repair()
  while (storage.trouble !== undefined) await pause(10)
  await demand(t, storage)
})
