import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { inspectDatabase } from '../../src/inspect-database.ts'
import { openStorage } from '../../src/open-storage.ts'
import type { AppliedMigration } from '../../src/port/storage.ts'
import { postgresData } from '../../src/postgres-data.ts'
import { readContents } from '../../src/read-contents.ts'
import { temporarySchema, testOnPostgres } from '../engines.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

testOnPostgres('a migration waits for a lock of another session, and names it', async (t) => {
  const { url, schema, execute } = await temporarySchema(t)
  const { write } = await temporaryMigrations(t)
  const storage = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => storage.close())
  const first = { '001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' }
  await storage.migrate([write('memo', first)])
  const next = write('memo', { ...first, '002-text.sql': 'ALTER TABLE memo ADD COLUMN text TEXT' })
  const holder = new Client({ connectionString: url.split('?')[0], application_name: 'report' })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`BEGIN; SELECT * FROM ${schema}.memo`)
  await t.rejects(storage.migrate([next]), {
    name: 'DatabaseLockedError',
    message:
      /^session \d+ \(user mortise, application report, from 127\.0\.0\.1, since \d{4}-.*Z, query: BEGIN; SELECT .*\) of PostgreSQL holds a lock/,
  })
  t.strictSame(await storage.pending([next]), [{ module: 'memo', name: '002-text' }])

  const waits = `SELECT FROM pg_locks WHERE NOT granted AND relation = '${schema}.memo'::regclass`
  const until = async (count: number) => {
    while ((await execute(waits)).rowCount !== count) await pause(20)
  }
  const migrating = storage.migrate([next])
  await until(1)
  await until(0)
  await holder.query('COMMIT')
  t.match(await migrating, [{ name: '002-text' }], 'it is tried again')
})

testOnPostgres('whatever a lock stops names the session', async (t) => {
  const { url, schema } = await temporarySchema(t)
  const { write } = await temporaryMigrations(t)
  const storage = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => storage.close())
  const set = write('memo', { '001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' })
  await storage.migrate([set])
  const [migration] = (await storage.applied()) as unknown as [AppliedMigration]
  const { tryPurge, tryUndo, readForeignObjects } = await postgresData()
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    applied: () => storage.applied(),
    pending: () => storage.pending([set]),
    copyTo: () => storage.copyTo(`${t.testdirName}/copy.db`),
    undo: () => storage.undo([migration]),
    purge: () => storage.purge('memo'),
    tryPurge: () => tryPurge(url, ['memo']),
    tryUndo: () => tryUndo(url, [migration]),
    readForeignObjects: () => readForeignObjects(url),
    readContents: () => readContents({ url }),
    inspectDatabase: () => inspectDatabase({ url }, [set], function* () {}),
  }
  const holder = new Client({ connectionString: url.split('?')[0], application_name: 'report' })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`BEGIN; LOCK TABLE ${schema}.mortise_migration, ${schema}.memo IN ACCESS EXCLUSIVE MODE`)
  const tried = Object.entries(works).map(async ([name, work]) => {
    await t.rejects(
      work(),
      { name: 'DatabaseLockedError', message: /application report.* holds a lock/ },
      name,
    )
  })
  await Promise.all(tried)
  await holder.query('COMMIT')
  for (const name of ['applied', 'copyTo', 'tryPurge', 'inspectDatabase']) await works[name]?.()
})
