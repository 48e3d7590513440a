import { existsSync, readdirSync, statSync } from 'node:fs'
import { cp, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig, readLockFile } from '@mortise/application'
import { Application } from '@mortise/host/serving'
import { readFileContents } from '@mortise/storage'
import t from 'tap'
import { killBefore } from '../kill-before.ts'
import { noteVersions, versionsOfNote } from '../note-versions.ts'
import { copiesOf, runOnTerminal } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

// A process for each moment.
t.setTimeout(600_000)

const snapshotsIn = (directory: string) => readdirSync(join(directory, '.app', 'snapshots'))

/** Has the application write notes. @returns what it returns then */
async function write(directory: string, times: number) {
  const host = await Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
  try {
    for (let time = 0; time < times; time++) await fetch(`${host.url}/note`, { method: 'POST' })
    return (await get(host, '/note')).body
  } finally {
    await host.close()
  }
}

/** How many notes the database has. */
async function count(directory: string): Promise<number | undefined> {
  const { databaseFile = '' } = await readConfig(directory)
  return readFileContents(databaseFile).rows.note
}

/** Version 1 with two notes, then version 2, which cannot be undone, with three more. */
const upgraded = copiesOf(async (application) => {
  const { directory, run } = application
  const { v1, v2 } = await versionsOfNote(application, undefined)
  await run('module-install', '--yes', v1)
  await write(directory, 2)
  await run('module-install', '--yes', v2)
  await write(directory, 3)
})

t.test('the snapshot restores data and modules together, and the replaced data are kept', async (t) => {
  const { directory, run } = await upgraded(t)
  const file = join(directory, '.app', 'snapshots', '1.db')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.match(await run('module-rollback'), {
    exitCode: 4,
    json: { error: { code: 'irreversible', hint: /app module-rollback 1 --restore-snapshot/ } },
  })
  const tables = [{ table: 'note', now: 5, snapshot: 2 }]
  const previous = join('data', 'app.db.before-generation-3')
  const done = await run('module-rollback', '--restore-snapshot', '--yes')
  t.match(done, {
    exitCode: 0,
    json: { to: 1, generation: 3, undone: [], live: false, snapshot: { at: /Z$/, tables, previous } },
  })
  t.match(done.stderr, /loses all writes since .* Rows now: note 5 \(then 2\)/, 'it is said before')
  t.ok(existsSync(join(directory, previous)))
  t.ok(existsSync(file), 'the snapshot stays')
  t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
  t.strictSame(await write(directory, 1), {
    version: '1.0.0',
    notes: [{ body: 'kept' }, { body: 'kept' }, { body: 'kept' }],
  })
  t.match(
    await run('module-rollback', '2'),
    { exitCode: 0, json: { to: 2, generation: 4 } },
    'there again: the migration is applied once more, after a snapshot of its own',
  )
  t.strictSame(snapshotsIn(directory), ['1.db', '3.db'])
  t.equal(await count(directory), 3)
  t.match(
    await run('module-rollback', '1', '--restore-snapshot', '--yes'),
    { json: { snapshot: { tables: [] } } },
    'the newest that fits is taken',
  )
  t.equal(await count(directory), 3)
})

t.test('no data are lost without consent', async (t) => {
  const { directory, run } = await upgraded(t)
  const lock = await readLockFile(directory)
  t.match(await run('module-rollback', '--restore-snapshot'), {
    exitCode: 4,
    json: { error: { code: 'declined', message: /note 5 \(then 2\)/, hint: /--yes/ } },
  })
  for (const [reply, exitCode] of [
    ['n', 4],
    ['y', 0],
  ] as const) {
    t.strictSame(await readLockFile(directory), lock)
    t.match(await runOnTerminal(reply, 'module-rollback', '--restore-snapshot', '--dir', directory), {
      exitCode,
      said: /note 5 \(then 2\).*Restore the snapshot\? \[y\/N\]/s,
    })
  }
  t.equal(await count(directory), 2)
})

t.test('a dry run shows what would be lost, and changes nothing', async (t) => {
  const { directory, run } = await upgraded(t)
  const lock = await readLockFile(directory)
  const done = await run('module-rollback', '--restore-snapshot', '--dry-run')
  t.match(done, {
    exitCode: 0,
    json: { dryRun: true, generation: 2, snapshot: { tables: [{ now: 5, snapshot: 2 }] } },
  })
  t.match(done.stderr, /note 5 \(then 2\)/)
  t.strictSame(await readLockFile(directory), lock)
  t.equal(await count(directory), 5)
})

t.test('a running host is a refusal after the report of the loss, and continues', async (t) => {
  const { directory, run } = await upgraded(t)
  const host = await runningHost(t, directory)
  const refused = await run('module-rollback', '--restore-snapshot', '--yes')
  t.match(refused, { exitCode: 4, json: { error: { code: 'host-running', hint: /Stop the host/ } } })
  t.match(refused.stderr, /note 5 \(then 2\)/)
  t.equal((await get(host, '/note')).body.notes.length, 5)
})

t.test('without a migration in between there is no snapshot, and the command refuses', async (t) => {
  const { directory, run } = await upgraded(t)
  await run('module-disable', 'note')
  t.match(await run('module-rollback', '2', '--restore-snapshot'), {
    exitCode: 4,
  })
  t.equal((await readLockFile(directory)).generation, 3)
  t.equal(await count(directory), 5)
})

t.test('--restore-snapshot also restores data that a reversible migration dropped', async (t) => {
  const { directory, run } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour', 'v1', 'v2')
  await write(directory, 1)
  t.match(await run('module-rollback', '--restore-snapshot', '--yes'), {
    exitCode: 0,
    json: { undone: [], snapshot: { tables: [{ table: 'note', now: 1, snapshot: 0 }] } },
  })
  t.strictSame(await write(directory, 0), { version: '1.0.0', notes: [] })
})

t.test('a damaged or missing snapshot is not restored, and nothing changes', async (t) => {
  const { directory, run } = await upgraded(t)
  const lock = await readLockFile(directory)
  const file = join(directory, '.app', 'snapshots', '1.db')
  await truncate(file, statSync(file).size - 5000)
  t.match(await run('module-rollback', '--restore-snapshot', '--yes'), {
    exitCode: 4,
    json: { error: { code: 'snapshot-unusable' } },
  })
  for (const command of ['disable', 'enable', 'disable', 'enable']) await run(`module-${command}`, 'note')
  t.strictSame(snapshotsIn(directory), [], 'it goes when its generation cannot be gone back to any more')
  t.match(await run('module-rollback', '1', '--restore-snapshot', '--yes'), {
    exitCode: 4,
    json: { error: { code: 'no-snapshot', hint: /backup/ } },
  })
  t.strictSame((await readLockFile(directory)).modules, lock.modules)
  t.equal(await count(directory), 5)
})

t.test('without a migration in between there is no snapshot to restore: the archive is named', async (t) => {
  const { directory, run } = await upgraded(t)
  t.match(await run('module-remove', '--purge', 'note'), { exitCode: 0 })
  const lock = await readLockFile(directory)
  t.match(await run('module-rollback', '--restore-snapshot', '--yes'), {
    exitCode: 4,
    json: { error: { code: 'no-snapshot', hint: /app restore .*\.app\/purged\/note-3\.tgz/ } },
  })
  t.strictSame(await readLockFile(directory), lock)
})

t.test('after kill -9 at any moment, data and lock file are as before or after', async (t) => {
  const { root, directory, run } = await upgraded(t)
  const saved = join(root, 'saved')
  await cp(directory, saved, { recursive: true })
  let completed = 0
  let ended: unknown = 'SIGKILL'
  for (let moment = 1; ended === 'SIGKILL'; moment++) {
    await rm(directory, { recursive: true })
    await cp(saved, directory, { recursive: true })
    const command = ['module-rollback', '1', '--restore-snapshot', '--yes', '--dir', directory]
    ended = await startApp(t, command, killBefore(moment)).ended
    const isDecided = existsSync(join(directory, '.app', 'restore.json'))
    t.equal(/Completed "module-rollback/.test((await run('module-remove', 'nothing')).stderr), isDecided)
    const isBack = (await readLockFile(directory)).generation === 3
    if (isDecided || ended === 0) t.ok(isBack, `killed before ${moment}`)
    t.equal(await count(directory), isBack ? 2 : 5, `killed before ${moment}`)
    t.match(await run('doctor'), { exitCode: 0 })
    if (isDecided) completed += 1
  }
  t.equal(ended, 0)
  t.ok(completed >= 4, `${completed} were completed`)
})
