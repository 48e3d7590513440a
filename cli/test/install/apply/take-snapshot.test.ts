import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig } from '@mortise/application'
import { Application } from '@mortise/host/serving'
import { readJournal } from '@mortise/installer/changes'
import { assertRoom } from '@mortise/installer/data'
import { findCorruption, readFileContents } from '@mortise/storage'
import t from 'tap'
import { sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { killBeforeNaming } from '../../kill-before.ts'
import { noteVersions } from '../../note-versions.ts'
import { startApp } from '../../run-process.ts'
import { get, runningHost } from '../../running-host.ts'

const snapshotsIn = (directory: string) => {
  const folder = join(directory, '.app', 'snapshots')
  return existsSync(folder) ? readdirSync(folder) : []
}

t.test('a change with migrations copies the database first, through the running host', async (t) => {
  const { root, directory, run, v1, v2 } = await noteVersions(t, undefined)
  const host = await runningHost(t, directory)
  await run('module-install', '--yes', v1)
  await fetch(`${host.url}/note`, { method: 'POST' })
  await run('module-install', '--yes', v2)
  t.strictSame(snapshotsIn(directory), ['0.db', '1.db'])
  const file = join(directory, '.app', 'snapshots', '1.db')
  t.equal(findCorruption(file), undefined)
  const { rows, ledger } = readFileContents(file)
  t.equal(rows.note, 1)
  t.strictSame(
    ledger.filter(({ module }) => module === 'note').map(({ name }) => name),
    ['001-note'],
  )
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  await run('module-disable', 'note')
  await run('module-enable', 'note')
  t.strictSame(snapshotsIn(directory), ['1.db'], 'only where there is something to migrate')
})

t.test('an application without a database has nothing to copy', async (t) => {
  const { directory, run, v1 } = await noteVersions(t, undefined)
  const { exitCode, json } = await run('module-install', '--yes', v1)
  t.match([exitCode, json.migrations[0], json.migrations.at(-1)], [0, 'host/001-host', 'note/001-note'])
  t.strictSame(snapshotsIn(directory), [])
})

for (const running of [true, false]) {
  t.test(
    `a change is refused if the database cannot be copied, ${running ? 'with' : 'without'} a host`,
    async (t) => {
      const { directory, run, v2 } = await noteVersions(t, undefined, 'v1')
      const lock = await readFile(join(directory, 'modules.lock.json'), 'utf8')
      await mkdir(join(directory, '.app', 'snapshots', '1.db', 'in the way'), { recursive: true })
      const host = running ? await runningHost(t, directory) : undefined
      t.match(await run('module-install', '--yes', v2), {
        exitCode: 4,
        json: { error: { code: 'snapshot-failed', hint: /Nothing was changed.*disk space/ } },
      })
      t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), lock)
      t.equal(await readJournal(directory), undefined)
      t.strictSame(snapshotsIn(directory), ['1.db'], 'no half of a copy is left')
      const { databaseFile = '' } = await readConfig(directory)
      t.notOk(readFileContents(databaseFile).ledger.some(({ name }) => name === '002-colour'))
      if (host) t.match(await get(host, '/note'), { status: 200, body: { version: '1.0.0' } })
    },
  )
}

t.test('a snapshot is refused if the disk has no space', async (t) => {
  await assertRoom(t.testdir(), 1)
  await t.rejects(assertRoom(t.testdir(), 2 ** 62), /it needs \d+ bytes, and \d+ are free/)
})

t.test('a refused migration leaves no snapshot', async (t) => {
  const { root, directory, run } = await noteVersions(t, undefined, 'v1')
  const host = await runningHost(t, directory)
  await fetch(`${host.url}/note`, { method: 'POST' })
  const broken = await sampleTarball(join(root, 'broken.tgz'), {
    id: 'note',
    version: '2.0.0',
    manifest: { tables: 'note', migrations: 'migrations' },
    files: {
      'migrations/001-note.sql': 'CREATE TABLE note (body TEXT)',
      'migrations/001-note.down.sql': 'DROP TABLE note',
      // Fits the empty table of the probe, and no two notes.
      'migrations/002-once.sql': 'CREATE UNIQUE INDEX note_once ON note (body)',
    },
  })
  await fetch(`${host.url}/note`, { method: 'POST' })
  t.match(await run('module-install', '--yes', broken), {
    exitCode: 4,
    json: { error: { code: 'migration-failed' } },
  })
  t.strictSame(snapshotsIn(directory), [])
})

for (const [moment, left] of [
  ['before the snapshot has its name', join('.app', 'snapshots', '1.db')],
  ['between migrating and the lock', 'modules.lock.json'],
] as const) {
  t.test(`after a kill ${moment}, the next command completes the change`, async (t) => {
    const { directory, run, v2 } = await noteVersions(t, undefined, 'v1')
    const host = await Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
    await fetch(`${host.url}/note`, { method: 'POST' })
    await host.close()
    const killed = startApp(
      t,
      ['module-install', '--yes', v2, '--dir', directory],
      killBeforeNaming(join(directory, left)),
    )
    t.equal(await killed.ended, 'SIGKILL')
    t.match(await run('module-list'), { json: { modules: [{ version: '1.0.0' }] } })
    t.match((await run('module-remove', 'nothing')).stderr, /Completed "module-install/)
    t.match(await run('module-list'), { json: { modules: [{ version: '2.0.0' }] } })
    t.strictSame(snapshotsIn(directory), ['1.db'])
    const { rows, ledger } = readFileContents(join(directory, '.app', 'snapshots', '1.db'))
    t.equal(rows.note, 1)
    t.notOk(ledger.some(({ name }) => name === '002-colour'))
    t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
  })
}
