import { run, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { temporarySchema, testOnPostgres } from '../engines.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'
import { ownRole } from './own-role.ts'

async function openAs(t: Test, url: string) {
  const storage = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => storage.close())
  return storage
}

testOnPostgres('a role that owns its schema needs no other right', async (t) => {
  const { url } = await ownRole(t, await temporarySchema(t))
  const { write } = await temporaryMigrations(t)
  const storage = await openAs(t, url)
  const first = {
    '001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)',
    '001-memo.down.sql': 'DROP TABLE memo',
  }
  await storage.migrate([write('memo', first)])
  const next = {
    '002-text.sql': 'ALTER TABLE memo ADD COLUMN text TEXT',
    '002-text.down.sql': 'ALTER TABLE memo DROP COLUMN text',
  }
  const applied = await storage.migrate([write('memo', { ...first, ...next })])
  t.match(applied, [{ name: '002-text' }])
  await storage.transaction(() => run(sql`INSERT INTO memo (id, text) VALUES ('a', 'b')`))
  await storage.undo(applied)
  t.match(await storage.purge('memo'), { tables: ['memo'] })
})

testOnPostgres('a missing right is named, with what grants it', async (t) => {
  const { url, role, schema, execute } = await ownRole(t, await temporarySchema(t))
  const refused = async (message: RegExp) =>
    t.rejects(openStorage({ url, onFatal: t.fail }), { name: 'StorageUnfitError', message })
  await execute(`DROP SCHEMA ${schema}`)
  await refused(
    new RegExp(`CREATE SCHEMA ${schema} AUTHORIZATION "${role}", or GRANT CREATE ON DATABASE "mortise"`),
  )
  await execute(`CREATE SCHEMA ${schema}`)
  await refused(new RegExp(`may not use the schema .*ALTER SCHEMA ${schema} OWNER TO "${role}"`))
  await execute(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
  const { write } = await temporaryMigrations(t)
  const storage = await openAs(t, url)
  await t.rejects(
    storage.migrate([write('memo', { '001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' })]),
    { name: 'StorageUnfitError', message: /permission denied .*the role must own the schema/ },
    'the migration is not to blame',
  )
  await execute(`CREATE TABLE ${schema}.mortise_migration (module TEXT)`)
  await refused(/may not read the tables .*GRANT "mortise" TO/)
})

testOnPostgres('writes are refused while new sessions are read-only by default', async (t) => {
  const { url, role, execute } = await ownRole(t, await temporarySchema(t))
  const { write } = await temporaryMigrations(t)
  const sets = [write('memo', { '001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' })]
  const storage = await openAs(t, url)
  await storage.migrate(sets)
  const insert = (id: string) => storage.transaction(() => run(sql`INSERT INTO memo (id) VALUES (${id})`))
  await insert('before')
  await execute(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
  while (storage.refusal === undefined) await insert(`${performance.now()}`).catch(() => {})
  const full = { name: 'DatabaseError', kind: 'full', message: /default_transaction_read_only/ }
  await t.rejects(insert('meanwhile'), full)
  await t.rejects(storage.purge('memo'), full)
  t.match(await storage.many(sql`SELECT id FROM memo WHERE id IN ('before', 'meanwhile')`), [
    { id: 'before' },
  ])
  const other = await openAs(t, url)
  t.match(other.refusal, /read-only/, 'a host that starts sees it at once')
  await execute(`ALTER ROLE ${role} RESET default_transaction_read_only`)
  while (storage.refusal !== undefined) await storage.many(sql`SELECT pg_sleep(0.02)`)
  await insert('after')
  t.equal(storage.refusal, undefined)
})
