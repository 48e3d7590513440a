import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { readLockFile, readPendingRecords, recordGeneration, writeLockFile } from '@mortise/application'
import type { AuditRecord } from '@mortise/host'
import { writeJournal } from '@mortise/installer/changes'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { interruptedChange } from '../interrupted-change.ts'
import { type Outcome, runApp, testApplication } from '../run-app.ts'
import { runningHost } from '../running-host.ts'
import { skipPostgres, testOnEngines, usePostgres } from '../test-on-engines.ts'

const actor = `os:${userInfo().username}`

/** What is on record, oldest first, without what the database has from elsewhere. */
async function recorded(run: (...argv: string[]) => Promise<Outcome>): Promise<AuditRecord[]> {
  const { exitCode, json } = await run('audit')
  if (exitCode !== 0) throw new Error(json.error.message)
  return json.records.toReversed()
}

const named = (records: readonly AuditRecord[]) =>
  records.map(({ action, object, outcome }) => `${action} ${object} ${outcome}`)

testOnEngines('the audit trail keeps the actions of operators', async (t, { root, directory, run }) => {
  const file = await sampleTarball(join(root, 'hello.tgz'))
  const note = await sampleTarball(join(root, 'note.tgz'), {
    id: 'note',
    manifest: { tables: 'note', migrations: 'migrations' },
    files: { 'migrations/001-note.sql': 'CREATE TABLE note (body TEXT)' },
  })
  await run('module-install', '--yes', file, note)
  await run('module-disable', 'hello')
  await run('module-disable', 'hello')
  const backup = join(root, 'backup.tgz')
  await run('backup', backup)
  const purged = await run('module-remove', '--purge', 'note')
  await run('restore', join(directory, purged.json.purged[0].archive))
  const { token } = (await run('token', 'support', '--scope', 'admin', '--expires', '30d')).json
  const records = await recorded(run)
  t.strictSame(named(records), [
    'module-install hello, note done',
    'module-disable hello done',
    'module-remove note done',
    'purge note done',
    'restore note-3.tgz done',
    'token support done',
  ])
  t.match(records[0], {
    actor,
    requestId: null,
    details: { generation: 1, changes: ['+ hello 1.0.0', '+ note 1.0.0'] },
  })
  t.match(records[3]?.details, { archive: '.app/purged/note-3.tgz', tables: ['note'] })
  t.same(records[5]?.details, { scope: 'admin', expiresIn: '30d', machine: hostname() })
  t.notOk(JSON.stringify(records).includes(token))
  const seqs = records.map(({ seq }) => seq as number)
  t.strictSame(
    seqs,
    seqs.toSorted((one, other) => one - other),
  )

  t.equal((await run('restore', backup)).exitCode, 0)
  t.strictSame(named(await recorded(run)), [
    'module-install hello, note done',
    'module-disable hello done',
    'restore backup.tgz done',
  ])
  t.strictSame(named((await run('audit', '--object', 'hello')).json.records), ['module-disable hello done'])
})

t.test('a change whose command was killed during the revert is reverted', async (t) => {
  const { directory, run } = await testApplication(t)
  const previous = await readLockFile(directory)
  const next = { ...previous, generation: 1 }
  const back = { ...previous, generation: 2 }
  await writeJournal(directory, interruptedChange('module-install b', previous, next))
  await recordGeneration(directory, 'module-install b (reverted)', back, { takesBack: 1 })
  await writeLockFile(directory, back)
  await run('module-remove', 'nothing')
  t.strictSame(named(await recorded(run)), ['module-install the application reverted'])
})

t.test('without an open database, records wait and are listed; a start stores them', async (t) => {
  const { directory, run } = await testApplication(t)
  await run('token', 'ann')
  t.match(await recorded(run), [{ seq: null, actor, action: 'token', object: 'ann' }])
  const host = await runningHost(t, directory)
  t.strictSame(await readPendingRecords(directory), [])
  t.match(await recorded(run), [{ seq: 1, object: 'ann' }])
  await run('token', 'ben')
  t.strictSame(await readPendingRecords(directory), [], 'a running host takes it in at once')
  await host.close()
  await run('token', 'cid')
  t.match(await readPendingRecords(directory), [{ object: 'cid' }])
  for (const object of ['ben', 'cid'])
    t.match((await run('audit', '--object', object)).json.records, [{ object }], object)
  t.match(await recorded(run), [{ object: 'ann' }, { object: 'ben' }, { seq: 3, object: 'cid' }])
})

t.test(
  'without the database, app token mints a token and records it later',
  { skip: skipPostgres },
  async (t) => {
    const { directory, run } = await testApplication(t)
    process.env.APP_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
    t.teardown(() => delete process.env.APP_DATABASE)
    t.equal((await run('token', 'ann')).exitCode, 0)
    t.match(await run('audit'), { exitCode: 1, json: { error: { code: 'database-unreachable' } } })
    delete process.env.APP_DATABASE
    await usePostgres(t, directory)
    const host = await runningHost(t, directory)
    t.match(await recorded(run), [{ seq: 1, object: 'ann' }])
    await host.close()
    await run('token', 'ben')
    t.strictSame(await readPendingRecords(directory), [], 'a PostgreSQL takes it in without a host')
  },
)

t.test('the output has one line per record, the newest first, in pages', async (t) => {
  const { directory, run } = await testApplication(t)
  await runningHost(t, directory)
  for (const subject of ['ann', 'benjamin', 'cid']) await run('token', subject)
  const { stdout } = await runApp('audit', '--limit', '2', '--dir', directory)
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
  t.match(
    stdout,
    new RegExp(`^3  ${time}  ${actor}  token  cid       done  scope none; expires in 1h; machine \\S+\n2  `),
  )
  t.equal(stdout.trim().split('\n').length, 2)
  t.match((await run('audit', '--before', '2')).json.records, [{ seq: 1, object: 'ann' }])
  t.match(await runApp('audit', '--before', '1', '--dir', directory), {
    stdout: 'The audit trail is empty.\n',
  })
  for (const wrong of ['0', 'x', '1.5', '-1']) {
    t.match(await run('audit', '--limit', wrong), { exitCode: 2, json: { error: { code: 'usage' } } })
  }
})
