import { existsSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '@mortise/module-sdk'
import { damageOf } from '@mortise/storage'
import t, { type Test } from 'tap'
import { Application } from '../../src/application.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { readLock, storedModule } from '../../src/modules/lock.ts'
import {
  auditTrail,
  copyDatabase,
  databaseSchema,
  migrateApplication,
  purgeModule,
  undoMigrations,
} from '../../src/offline.ts'
import { applicationFolder, type FixtureModule, install, oneRoute, uninstall } from '../application-folder.ts'
import { ownMigrations } from '../modules/own-migrations.ts'

const noted: FixtureModule = {
  manifest: { id: 'note', tables: 'note', migrations: 'migrations', routes: ['GET /note'] },
  files: {
    ...oneRoute('note', 'noted').files,
    'migrations/001-note.sql': 'CREATE TABLE note (id INTEGER PRIMARY KEY)',
    'migrations/001-note.down.sql': 'DROP TABLE note',
    'migrations/002-log.sql': 'CREATE TABLE note_log (id INTEGER PRIMARY KEY)',
  },
}
const REVERSIBLE = [{ module: 'note', name: '001-note' }]

const purged = {
  id: newId('audit'),
  at: new Date().toISOString(),
  actor: 'os:ann',
  action: 'purge',
  object: 'note',
  outcome: 'done',
  details: {},
} as const

async function running(t: Test) {
  const directory = await applicationFolder(t)
  await install(t, directory, noted)
  const host = await Application.start({ directory })
  t.teardown(() => host.close())
  return { directory, host, ...asking(directory) }
}

function asking(directory: string) {
  const get = async (path: '/schema') => (await callRunningHost(directory, { method: 'GET', path }))?.body
  const post = (path: '/undo' | '/backup' | '/retired' | '/purge' | '/activate', body?: object) =>
    callRunningHost(directory, { method: 'POST', path, body })
  return { get, post }
}

t.test('the schema of a running application is that of the stopped one', async (t) => {
  const { directory, host, get } = await running(t)
  const schema = await get('/schema')
  t.match(schema, {
    statements: [/mortise_migration/],
    ledger: [...ownMigrations.map((name) => ({ module: 'host', name })), { module: 'note' }],
  })
  await t.rejects(databaseSchema(directory), { name: 'StorageBusyError' })
  await host.close()
  t.strictSame(await databaseSchema(directory), schema)
})

t.test('migrations are undone by a running host and without one', async (t) => {
  const { directory, host, post } = await running(t)
  t.match(await post('/undo', { migrations: REVERSIBLE }), {
    status: 409,
    body: { reason: /002-log was applied after/ },
  })
  const both = [...REVERSIBLE, { module: 'note', name: '002-log' }]
  t.match(await post('/undo', { migrations: both }), {
    status: 409,
    body: { reason: /002-log of note is irreversible/ },
  })
  t.match(await post('/undo', { migrations: [{ module: 'absent', name: '001-a' }] }), {
    status: 200,
    body: {},
  })
  await host.close()
  await t.rejects(undoMigrations(directory, both), { name: 'MigrationError' })

  const lock = await readLock(directory)
  const folder = storedModule(directory, lock.modules.note as never)
  await purgeModule(directory, 'note', purged)
  await rename(join(folder, 'migrations/002-log.sql'), join(folder, 'later'))
  t.strictSame(await migrateApplication(directory, lock.modules), REVERSIBLE)
  await undoMigrations(directory, REVERSIBLE)
  t.strictSame(
    (await databaseSchema(directory)).ledger.map(({ module }) => module),
    ownMigrations.map(() => 'host'),
  )
})

t.test('the database is copied by a running host and without one', async (t) => {
  const { directory, host, post } = await running(t)
  for (const alone of [false, true]) {
    const file = join(directory, `copy-${alone}.db`)
    if (alone) {
      await host.close()
      await copyDatabase(directory, file)
    } else t.match(await post('/backup', { file }), { status: 200 })
    t.equal(damageOf(file), undefined)
    t.match(await readFile(file, 'latin1'), /note_log/)
  }
})

t.test('tables are dropped only of what is not installed', async (t) => {
  const { directory, host, post } = await running(t)
  const purge = (module: string) => post('/purge', { module, record: { ...purged, id: newId('audit') } })
  const refused = await purge('note')
  t.match(refused, { status: 409, body: { reason: /note cannot be dropped: it is installed/ } })
  await uninstall(directory, 'note')
  t.match(await post('/activate'), { status: 200 })
  t.match(await post('/retired'), { status: 200, body: {} })
  t.strictSame((await purge('note'))?.body, {
    module: 'note',
    tables: ['note', 'note_log'],
  })
  t.strictSame((await purge('note'))?.body, { module: 'note', tables: [] })
  t.match(await purge('host'), { status: 409 })
  await host.close()
  const records = await auditTrail(directory, { limit: 10 })
  t.match(records, [{ actor: 'os:ann', action: 'purge', object: 'note' }])
  t.equal(records.length, 1, 'what was refused, or done already, is not on record')
})

t.test('looking at the schema of an application that was never started makes no database', async (t) => {
  const directory = await applicationFolder(t)
  t.strictSame(await databaseSchema(directory), { statements: [], ledger: [] })
  t.notOk(existsSync(join(directory, 'data')))
})
