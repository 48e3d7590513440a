import { copyFile, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { noteVersions } from '../note-versions.ts'
import { get, runningHost } from '../running-host.ts'

const post = (url: string) => fetch(`${url}/note`, { method: 'POST' })

t.test('the previous version and its schema return at once, and the data stay', async (t) => {
  const { directory, run, v2 } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour', 'v1')
  const running = await runningHost(t, directory)
  await post(running.url)
  await run('module-install', '--yes', v2)
  t.match((await get(running, '/note')).body, { version: '2.0.0', notes: [{ body: 'kept', colour: 'none' }] })
  t.match(await run('module-rollback'), {
    exitCode: 0,
    json: { to: 1, generation: 3, undone: ['note/002-colour'], live: true },
  })
  t.strictSame((await get(running, '/note')).body, { version: '1.0.0', notes: [{ body: 'kept' }] })
  t.match(await run('module-rollback', '2'), { json: { to: 2, generation: 4, undone: [] } })
  t.match((await get(running, '/note')).body, { version: '2.0.0', notes: [{ body: 'kept', colour: 'none' }] })
  t.match(await run('module-rollback', '2'), { exitCode: 0, json: { generation: 4, live: true } })
})

t.test('rollback works without a host, and to an empty application', async (t) => {
  const { directory, run } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour', 'v1', 'v2')
  t.match(await run('module-rollback', '1'), {
    exitCode: 0,
    json: { undone: ['note/002-colour'], live: false },
  })
  t.match(await run('module-rollback', '0'), { exitCode: 0, json: { to: 0, undone: [] } })
  t.strictSame((await readLockFile(directory)).modules, {})
})

t.test('an irreversible migration is a refusal, and nothing changes', async (t) => {
  const { directory, run } = await noteVersions(t, undefined, 'v1', 'v2')
  const before = await readFile(join(directory, 'modules.lock.json'), 'utf8')
  t.match(await run('module-rollback'), {
    exitCode: 4,
    json: { error: { code: 'irreversible', message: /002-colour of note/ } },
  })
  t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), before)
})

t.test('an unknown generation is not found', async (t) => {
  const { run, v1 } = await noteVersions(t, undefined)
  t.match(await run('module-rollback'), { exitCode: 3, json: { error: { code: 'no-such-generation' } } })
  await run('module-install', '--yes', v1)
  t.match(await run('module-rollback', '7'), { exitCode: 3 })
  t.match(await run('module-rollback', 'one'), { exitCode: 2 })
})

t.test('the history has the time, the command and the changes', async (t) => {
  const { run, v1, v2 } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour')
  t.match((await run('module-history')).json, { generation: 0, generations: [] })
  await run('module-install', '--yes', v1)
  await run('module-install', '--yes', v2)
  await run('module-disable', 'note')
  await run('module-enable', 'note')
  await run('module-remove', 'note')
  const { json } = await run('module-history')
  t.match(json.generations, [
    { generation: 0, command: 'init', changes: [] },
    { generation: 1, command: /^module-install .*note-1.0.0.tgz$/, changes: ['+ note 1.0.0'] },
    { generation: 2, changes: ['~ note 1.0.0 → 2.0.0'] },
    { generation: 3, command: 'module-disable note', changes: ['~ note disabled'] },
    { generation: 4, changes: ['~ note enabled'] },
    { generation: 5, changes: ['- note 2.0.0'], present: true },
  ])
  t.match(json.generations[0].at, /^\d{4}-\d\d-\d\dT.*Z$/)
})

t.test('packages without a recent generation are removed from the store', async (t) => {
  const { root, directory, run } = await noteVersions(t, undefined, 'v1')
  await run('module-remove', 'note')
  const other = await sampleTarball(join(root, 'other.tgz'), { id: 'other' })
  await run('module-install', '--yes', other)
  const inStore = async () =>
    (await readdir(join(directory, '.app', 'store'))).filter((name) => name.includes('note'))
  for (const command of ['module-disable', 'module-enable', 'module-disable']) {
    t.equal((await inStore()).length, 1)
    await run(command, 'other')
  }
  t.equal((await inStore()).length, 0)
  t.match(await run('module-list'), { exitCode: 0 })
})

t.test('a running host rolls back and forward, also over a removal and a disabled module', async (t) => {
  const { directory, run, v2 } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour', 'v1')
  const running = await runningHost(t, directory)
  await post(running.url)
  await run('module-install', '--yes', v2)
  const [one, two] = [
    { version: '1.0.0', notes: [{ body: 'kept' }] },
    { version: '2.0.0', notes: [{ body: 'kept', colour: 'none' }] },
  ]
  for (const expected of [one, two, one, two]) {
    t.match(await run('module-rollback'), { exitCode: 0, json: { live: true } })
    t.strictSame((await get(running, '/note')).body, expected)
  }
  for (const command of ['module-remove', 'module-disable']) {
    await run(command, 'note')
    t.equal((await get(running, '/note')).status, 404)
    t.match(await run('module-rollback'), { exitCode: 0, json: { undone: [], live: true } })
    t.strictSame((await get(running, '/note')).body, two)
  }
})

t.test('installing an older package keeps the newer schema, and rollback undoes it', async (t) => {
  const { directory, run, v1, v2 } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour')
  const running = await runningHost(t, directory)
  await run('module-install', '--yes', v2)
  await post(running.url)
  t.match(await run('module-install', '--yes', v1), {
    exitCode: 0,
    json: { installed: [{ version: '1.0.0', replaces: '2.0.0' }], live: true },
  })
  await post(running.url)
  t.match((await get(running, '/note')).body, { version: '1.0.0', notes: { length: 2 } })
  t.match(await run('doctor'), { exitCode: 0, json: { findings: [{ id: 'schema-ahead' }] } })
  t.match(await run('module-upgrade', 'note@2.0.0'), { exitCode: 2 }, 'a file has no other versions')
  t.match(await run('module-rollback'), { json: { to: 1, undone: [] } })
  t.match((await get(running, '/note')).body, {
    version: '2.0.0',
    notes: [{ colour: 'none' }, { colour: 'none' }],
  })
})

t.test('missing packages are downloaded again; if that fails, nothing changes', async (t) => {
  const { directory, run, v1, v2 } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour', 'v1', 'v2')
  for (const command of ['disable', 'enable', 'disable', 'enable']) await run(`module-${command}`, 'note')
  const lock = await readLockFile(directory)
  await rename(v1, `${v1}.away`)
  t.match(await run('module-rollback', '1'), {
    exitCode: 3,
    json: {
      error: {
        message: /^The application cannot go back to generation 1: .*note-1\.0\.0\.tgz/,
        hint: /last 5/,
      },
    },
  })
  await copyFile(v2, v1)
  t.match(await run('module-rollback', '1'), { exitCode: 4, json: { error: { code: 'integrity' } } })
  t.strictSame(await readLockFile(directory), lock)
  await rename(`${v1}.away`, v1)
  t.match(await run('module-rollback', '1'), { exitCode: 0, json: { undone: ['note/002-colour'] } })
})
