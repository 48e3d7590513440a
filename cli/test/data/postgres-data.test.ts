import { randomInt } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import { readArchive } from '@mortise/installer/data'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { killBefore } from '../kill-before.ts'
import { killBeforeQuery } from '../kill-before-query.ts'
import { noteVersions } from '../note-versions.ts'
import { packArchive } from '../pack-archive.ts'
import { skip, temporarySchema, useDatabase } from '../postgres-schema.ts'
import { runApp, testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

/** An application on PostgreSQL with a module, whose second version cannot be undone. */
async function notes(t: Test) {
  const application = await noteVersions(t, undefined)
  const database = await temporarySchema(t)
  await useDatabase(application.directory, database.url)
  t.match(await application.run('module-install', '--yes', application.v1), { exitCode: 0 })
  const count = async () => Number((await database.execute('SELECT count(*) FROM note'))[0].count)
  const write = (times: number) =>
    database.execute(`INSERT INTO note (body) SELECT 'kept ' || n FROM generate_series(1, ${times}) AS n`)
  return { ...application, ...database, count, write }
}

t.test('a backup of a running application on PostgreSQL restores data and lock file', { skip }, async (t) => {
  const { directory, root, run, count, write, schema } = await notes(t)
  const host = await runningHost(t, directory)
  await write(3)
  const file = join(root, 'backup.tgz')
  t.match(await run('backup', file), { exitCode: 0 })
  await write(2)
  t.match(await run('restore', file), { exitCode: 4, json: { error: { code: 'host-running' } } })
  await host.close()
  await run('module-disable', 'note')
  const previous = `${schema}_before_generation_3`
  t.match(await run('restore', file), { exitCode: 0, json: { generation: 3, previous, missing: [] } })
  t.equal(await count(), 3)
  t.equal((await readLockFile(directory)).modules.note?.enabled, true)
  const again = await runningHost(t, directory)
  t.equal((await get(again, '/note')).body.notes.length, 3)
  await fetch(`${again.url}/note`, { method: 'POST' })
  t.equal(await count(), 4)
})

t.test('restore is refused while a host on another machine runs', { skip }, async (t) => {
  const { directory, root, run, count, write } = await notes(t)
  const file = join(root, 'backup.tgz')
  t.match(await run('backup', file), { exitCode: 0 })
  await write(1)
  await cp(directory, join(root, 'other'), { recursive: true })
  const host = await runningHost(t, join(root, 'other'))
  t.match(await run('restore', file), {
    exitCode: 4,
    json: { error: { code: 'host-running', message: /a host at/ } },
  })
  await host.close()
  t.equal(await count(), 1)
  t.match(await run('doctor'), { exitCode: 0 }, 'nothing is left')
})

t.test('a backup can be restored on the other engine, and back', { skip }, async (t) => {
  const { directory, root, run, write, url, count } = await notes(t)
  await write(3)
  const [first, second] = [join(root, 'first.tgz'), join(root, 'second.tgz')]
  await run('backup', first)
  await useDatabase(directory, 'data/app.db')
  t.match(await run('restore', first), { exitCode: 0, json: { previous: null } })
  const host = await runningHost(t, directory)
  t.equal((await get(host, '/note')).body.notes.length, 3)
  await fetch(`${host.url}/note`, { method: 'POST' })
  await run('backup', second)
  await host.close()
  await useDatabase(directory, url)
  t.match(await run('restore', second), { exitCode: 0 })
  t.equal(await count(), 4)
})

t.test(
  'rows of a table that only PostgreSQL has are verified, and restored there alone',
  { skip },
  async (t) => {
    const { directory, root, run } = await testApplication(t)
    const { url, execute } = await temporarySchema(t)
    await useDatabase(directory, url)
    const module = await sampleTarball(join(root, 'tally.tgz'), {
      id: 'tally',
      manifest: { tables: 'tally', migrations: 'migrations' },
      files: {
        'migrations/001-tally.sql': 'CREATE TABLE tally (id TEXT PRIMARY KEY)',
        'migrations/001-tally.down.sql': 'DROP TABLE tally',
        'migrations/002-change.sqlite.sql': '-- SQLite counts at once.',
        'migrations/002-change.sqlite.down.sql': '-- Nothing was made.',
        'migrations/002-change.postgres.sql':
          'CREATE TABLE tally_change (id TEXT PRIMARY KEY); ALTER TABLE tally ADD COLUMN node TEXT',
        'migrations/002-change.postgres.down.sql':
          'DROP TABLE tally_change; ALTER TABLE tally DROP COLUMN node',
      },
    })
    t.match(await run('module-install', '--yes', module), { exitCode: 0 })
    await execute(`INSERT INTO tally_change VALUES ('a'), ('b'); INSERT INTO tally VALUES ('c', 'here')`)
    const file = join(root, 'backup.tgz')
    t.match(await run('backup', file), { exitCode: 0 })
    const rows = { tally: 1, tally_change: 2 }
    t.match(await run('backup', 'verify', file), { exitCode: 0, json: { rows } })
    await execute('DELETE FROM tally_change; DELETE FROM tally')
    t.match(await run('restore', file), { exitCode: 0 })
    t.match(
      await execute('SELECT (SELECT count(*) FROM tally) + (SELECT count(*) FROM tally_change) AS count'),
      [{ count: '3' }],
    )
    await useDatabase(directory, 'data/app.db')
    t.match(await run('restore', file), {
      exitCode: 4,
      json: { error: { message: /restore it into PostgreSQL/ } },
    })
  },
)

t.test('an archive restores data purged on PostgreSQL', { skip }, async (t) => {
  const { directory, run, v1, write, count } = await notes(t)
  const host = await runningHost(t, directory)
  await write(3)
  const { exitCode, json } = await run('module-remove', '--purge', 'note')
  t.equal(exitCode, 0)
  t.match(json.purged, [{ module: 'note', tables: ['note'] }])
  t.match(await run('module-install', '--yes', v1), { exitCode: 0, json: { live: true } })
  t.equal(await count(), 0)
  await host.close()
  const archive = join(directory, json.purged[0].archive)
  t.match(await run('restore', archive), {
    exitCode: 4,
    json: { error: { message: /note.* its migration 001-note is applied/ } },
  })
  t.match(await run('module-remove', '--purge', 'note'), { exitCode: 0 })
  t.match(await run('restore', archive), { exitCode: 0, json: { tables: ['note'] } })
  t.match(await run('module-install', '--yes', v1), { exitCode: 0 })
  t.equal(await count(), 3)
})

/** The archive at `file`, whose migrations of the module do more on PostgreSQL. */
async function withEvilSql(root: string, file: string): Promise<string> {
  const folder = join(root, 'parts')
  await mkdir(folder)
  const { parts: _, ...about } = await readArchive(file, folder)
  const data = new Database(join(folder, 'data.db'))
  data.exec(
    `UPDATE "postgres/migration" SET up = up || '; CREATE TABLE note_evil (id BIGINT)' WHERE module = 'note'`,
  )
  data.close()
  const names = (await readdir(folder)).filter((name) => name !== 'manifest.json')
  const bodies = names.map(async (name) => [name, await readFile(join(folder, name))] as const)
  return await packArchive(join(root, 'evil.tgz'), about, Object.fromEntries(await Promise.all(bodies)))
}

t.test('no SQL of an archive runs on PostgreSQL before it is agreed to', { skip }, async (t) => {
  const { directory, root, run, write, count, execute } = await notes(t)
  await write(3)
  const saved = join(root, 'backup.tgz')
  await run('backup', saved)
  const evil = await withEvilSql(root, saved)
  const tables = () => execute(`SELECT to_regclass('note_evil') AS evil, to_regclass('note') AS note`)
  t.match(await run('restore', evil), { exitCode: 0 }, 'the store has the module')
  t.equal(await count(), 3)
  t.match(await tables(), [{ evil: null, note: 'note' }], 'its own SQL ran')

  const other = await newApplication(join(root, 'other'))
  const place = await temporarySchema(t)
  await useDatabase(join(root, 'other'), place.url)
  const refused = {
    exitCode: 4,
    json: { error: { code: 'new-source', message: /the SQL of note in the archive/ } },
  }
  t.match(await other('restore', evil), refused)
  t.strictSame(
    await place.execute(`SELECT nspname FROM pg_namespace WHERE nspname LIKE '${place.schema}%'`),
    [],
    'nothing was made',
  )
  t.match(await other('restore', saved, '--yes'), { exitCode: 0 })

  const purged = await run('module-remove', '--purge', 'note')
  const own = join(directory, purged.json.purged[0].archive)
  const elsewhere = join(root, 'purged.tgz')
  await cp(own, elsewhere)
  for (const folder of await readdir(join(directory, '.app', 'store')))
    if (folder.includes('note')) await rm(join(directory, '.app', 'store', folder), { recursive: true })
  t.match(await run('restore', elsewhere), refused)
  t.match(await run('restore', own), { exitCode: 0, json: { tables: ['note'] } }, 'its own archive')
})

async function newApplication(directory: string) {
  await runApp('init', directory)
  return (...argv: string[]) => runApp(...argv, '--dir', directory, '--json')
}

t.test('the archive before a down migration restores the rows', { skip }, async (t) => {
  const application = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour')
  const { directory, run, v1, v2 } = application
  const { url, execute } = await temporarySchema(t)
  await useDatabase(directory, url)
  await run('module-install', '--yes', v1)
  await run('module-install', '--yes', v2)
  await execute(`INSERT INTO note (body, colour) VALUES ('kept', 'red'), ('kept', 'green')`)
  const drops = [{ table: 'note', column: 'colour', rows: 2 }]
  t.match(await run('module-rollback', '--dry-run'), { json: { plan: { drops } } })
  const { json } = await run('module-rollback')
  t.match(json, { undone: ['note/002-colour'], archive: '.app/undone/2.tgz' })
  t.notMatch(await execute('SELECT * FROM note'), [{ colour: 'red' }])
  t.match(await run('restore', join(directory, json.archive)), { exitCode: 0 })
  t.match(await execute('SELECT * FROM note ORDER BY colour'), [{ colour: 'green' }, { colour: 'red' }])
  t.equal((await readLockFile(directory)).modules.note?.version, '2.0.0')
})

t.test('the snapshot before a migration restores data and modules', { skip }, async (t) => {
  const { directory, run, v2, write, count, schema } = await notes(t)
  await write(2)
  t.match(await run('module-install', '--yes', v2), { exitCode: 0 })
  await write(3)
  t.match(await run('module-rollback'), {
    exitCode: 4,
    json: { error: { code: 'irreversible', hint: /--restore-snapshot/ } },
  })
  const previous = `${schema}_before_generation_3`
  t.match(await run('module-rollback', '--restore-snapshot', '--yes'), {
    exitCode: 0,
    json: { to: 1, generation: 3, snapshot: { tables: [{ table: 'note', now: 5, snapshot: 2 }], previous } },
  })
  t.equal(await count(), 2)
  const host = await runningHost(t, directory)
  t.match((await get(host, '/note')).body, { version: '1.0.0' })
  t.match(await run('doctor'), { exitCode: 0 })
})

t.test(
  'after kill -9 at any moment of a restore, data and lock file are as before or after',
  { skip },
  async (t) => {
    const { directory, root, run, write, count } = await notes(t)
    await write(3)
    const file = join(root, 'backup.tgz')
    await run('backup', file)
    let completed = 0
    // Each place where a file is named; of the queries, others each time.
    for (const [kill, stride] of [
      [killBefore, 1],
      [killBeforeQuery, 24],
    ] as const) {
      let ended: unknown = 'SIGKILL'
      for (let moment = 1 + randomInt(stride); ended === 'SIGKILL'; moment += stride) {
        await write(1)
        const [rows, { generation }] = [await count(), await readLockFile(directory)]
        ended = await startApp(t, ['restore', file, '--dir', directory], kill(moment)).ended
        const { stderr, exitCode, stdout } = await run('module-install')
        t.equal(exitCode, 0, stdout)
        if (/Completed "restore/.test(stderr)) completed += 1
        const isBack = (await readLockFile(directory)).generation === generation + 1
        t.equal(await count(), isBack ? 3 : rows, `${kill.name} ${moment}`)
        if (ended === 0) t.ok(isBack)
      }
      t.equal(ended, 0)
    }
    t.ok(completed >= 3, `${completed} were completed`)
    t.match(await run('doctor'), { exitCode: 0 })
  },
)
