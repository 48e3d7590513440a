import { many, run, sql } from '@mortise/module-sdk'
import { Client } from 'pg'
import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { temporarySchema } from '../engines.ts'
import { NOTES, notes } from '../notes.ts'
import { skipPgbouncer, startPgbouncer } from './start-pgbouncer.ts'

const skip =
  process.env.APP_TEST_DATABASE_URL === undefined
    ? 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'
    : skipPgbouncer

/** Settings about the parameters at the beginning of a connection. */
const STARTUP = { 'that it knows': {}, 'that it ignores': { ignore_startup_parameters: 'options' } }

for (const [parameters, settings] of Object.entries(STARTUP)) {
  t.test(`PgBouncer in session mode serves, with startup parameters ${parameters}`, { skip }, async (t) => {
    const { url, schema, execute } = await temporarySchema(t)
    await execute(`CREATE SCHEMA ${schema}`)
    await execute(NOTES)
    const pooled = await startPgbouncer(t, url, { pool_mode: 'session', ...settings })
    const storage = await openStorage({ url: pooled, outbox: notes, onFatal: t.fail })
    t.teardown(() => storage.close())
    const noticed = Promise.withResolvers<void>()
    t.teardown(storage.onOutbox(noticed.resolve))
    await storage.transaction(() => run(sql`INSERT INTO note (text) VALUES ('a')`))
    await storage.sequenceOutbox()
    await noticed.promise
    t.strictSame((await execute('SELECT text FROM note')).rows, [{ text: 'a' }], 'in its own schema')
    const busy = Array.from({ length: 20 }, () =>
      storage.transaction(() => many(sql`SELECT current_setting('synchronous_commit') AS value`)),
    )
    t.strictSame(new Set((await Promise.all(busy)).flat().map((row) => JSON.stringify(row))).size, 1)
  })
}

for (const [mode, more] of [
  ['transaction', {}],
  ['transaction', { server_round_robin: 1, default_pool_size: 5, ignore_startup_parameters: 'options' }],
  ['transaction', { default_pool_size: 1 }],
  ['statement', {}],
] as const) {
  t.test(`PgBouncer in ${mode} mode is refused (${JSON.stringify(more)})`, { skip }, async (t) => {
    const { url } = await temporarySchema(t)
    const pooled = await startPgbouncer(t, url, { pool_mode: mode, ...more })
    await t.rejects(openStorage({ url: pooled, onFatal: t.fail }), {
      name: 'StorageUnfitError',
      message: /shares a session .*pool_mode = session/,
    })
  })
}

t.test('PgBouncer in transaction mode is refused beside other clients', { skip }, async (t) => {
  const { url } = await temporarySchema(t)
  const pooled = await startPgbouncer(t, url, { pool_mode: 'transaction', default_pool_size: 4 })
  let isOver = false
  const others = Array.from({ length: 6 }, async () => {
    const client = new Client({ connectionString: pooled.split('?')[0] })
    await client.connect()
    while (!isOver) await client.query('SELECT pg_sleep(0.01)')
    await client.end()
  })
  await t.rejects(openStorage({ url: pooled, onFatal: t.fail }), { name: 'StorageUnfitError' })
  isOver = true
  await Promise.all(others)
})

t.test('a pooler that gives too few connections says so', { skip }, async (t) => {
  const { url } = await temporarySchema(t)
  const pooled = await startPgbouncer(t, url, { pool_mode: 'session', default_pool_size: 1 })
  await t.rejects(openStorage({ url: `${pooled}&connect_timeout=2`, onFatal: t.fail }), {
    name: 'StorageUnfitError',
    message: /no second connection .* it must allow 19 for each process/,
  })
})
