import { existsSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile, storedModule } from '@mortise/application'
import { newId } from '@mortise/module-sdk'
import { findCorruption } from '@mortise/storage'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  oneRoute,
  uninstall,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { runWithoutHost } from '../../src/control/call-application.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
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
  return { directory, host }
}

t.test('the schema of a running application is that of the stopped one', async (t) => {
  const { directory, host } = await running(t)
  const schema = await callRunningHost(directory, 'schema')
  t.match(schema, {
    statements: [/mortise_migration/],
    ledger: [...ownMigrations.map((name) => ({ module: 'host', name })), { module: 'note' }],
  })
  await t.rejects(runWithoutHost(directory, 'schema'), { name: 'StorageBusyError' })
  await host.close()
  t.strictSame(await runWithoutHost(directory, 'schema'), schema)
})

t.test('migrations are undone by a running host and without one', async (t) => {
  const { directory, host } = await running(t)
  const undo = (migrations: typeof REVERSIBLE) => callRunningHost(directory, 'undo', { migrations })
  await t.rejects(undo(REVERSIBLE), { status: 409, message: /002-log was applied after/ })
  const both = [...REVERSIBLE, { module: 'note', name: '002-log' }]
  await t.rejects(undo(both), { status: 409, message: /002-log of note is irreversible/ })
  t.same(await undo([{ module: 'absent', name: '001-a' }]), {})
  await host.close()
  await t.rejects(runWithoutHost(directory, 'undo', { migrations: both }), { name: 'MigrationError' })

  const lock = await readLockFile(directory)
  const folder = storedModule(directory, lock.modules.note as never)
  await runWithoutHost(directory, 'purge', { module: 'note', record: purged })
  await rename(join(folder, 'migrations/002-log.sql'), join(folder, 'later'))
  const { modules } = lock
  t.strictSame(await runWithoutHost(directory, 'migrate', { modules }), { applied: REVERSIBLE })
  await runWithoutHost(directory, 'undo', { migrations: REVERSIBLE })
  t.strictSame(
    (await runWithoutHost(directory, 'schema')).ledger.map(({ module }) => module),
    ownMigrations.map(() => 'host'),
  )
})

t.test('the database is copied by a running host and without one', async (t) => {
  const { directory, host } = await running(t)
  for (const alone of [false, true]) {
    const file = join(directory, `copy-${alone}.db`)
    if (alone) {
      await host.close()
      await runWithoutHost(directory, 'backup', { file })
    } else t.ok(await callRunningHost(directory, 'backup', { file }))
    t.equal(findCorruption(file), undefined)
    t.match(await readFile(file, 'latin1'), /note_log/)
  }
})

t.test('only tables of uninstalled modules can be dropped', async (t) => {
  const { directory, host } = await running(t)
  const purge = (module: string) =>
    callRunningHost(directory, 'purge', { module, record: { ...purged, id: newId('audit') } })
  await t.rejects(purge('note'), { status: 409, message: /note cannot be dropped: it is installed/ })
  await uninstall(directory, 'note')
  t.ok(await callRunningHost(directory, 'activate'))
  t.same(await callRunningHost(directory, 'retired'), {})
  t.strictSame(await purge('note'), {
    module: 'note',
    tables: ['note', 'note_log'],
  })
  t.strictSame(await purge('note'), { module: 'note', tables: [] })
  await t.rejects(purge('host'), { name: 'HostRefusedError', status: 409 })
  await host.close()
  const { records } = await runWithoutHost(directory, 'audit', { limit: 10 })
  t.match(records, [{ actor: 'os:ann', action: 'purge', object: 'note' }])
  t.equal(records.length, 1, 'what was refused, or done already, is not on record')
})

t.test('reading the schema of a new application makes no database', async (t) => {
  const directory = await applicationFolder(t)
  t.strictSame(await runWithoutHost(directory, 'schema'), { statements: [], ledger: [] })
  t.notOk(existsSync(join(directory, 'data')))
})
