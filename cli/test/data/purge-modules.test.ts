import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { backedUp, count, hasTables, write } from '../backed-up.ts'
import { noteVersions } from '../note-versions.ts'
import { temporarySchema, useDatabase } from '../postgres-schema.ts'
import { runApp, runOnTerminal, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'
import { skipPostgres, usePostgres } from '../test-on-engines.ts'

const TABLES = ['entry', 'entry_twin']

t.test('a purge moves the tables of a module to an archive', async (t) => {
  const { directory, run } = await backedUp(t)
  const archive = '.app/purged/entry-2.tgz'
  t.match(await run('module-remove', '--purge', 'entry'), {
    exitCode: 0,
    json: { generation: 2, removed: ['entry'], purged: [{ module: 'entry', tables: TABLES, archive }] },
  })
  t.notOk(await hasTables(directory))
  t.match(await run('module-remove', '--purge', 'entry', '@acme/entry'), {
    exitCode: 0,
    json: { generation: 2, removed: [], purged: [] },
  })
  t.match(await run('restore', join(directory, archive)), { exitCode: 0 })
  t.equal(await count(t, directory), 5)

  t.match(
    await run('module-remove', '--purge', '@acme/entry'),
    {
      exitCode: 0,
      json: { absent: ['@acme/entry'], purged: [{ module: 'entry', archive: '.app/purged/entry-2-2.tgz' }] },
    },
    'data that a removal had left are purged too, and no archive is overwritten',
  )
})

t.test('what cannot be purged is not removed: the database is gone', async (t) => {
  const { directory, run } = await noteVersions(t, undefined, 'v1')
  await rm(join(directory, 'data'), { recursive: true })
  const lock = await readLockFile(directory)
  t.match(await run('module-remove', '--purge', 'note'), {
    exitCode: 4,
    json: { error: { code: 'not-purgeable', message: /app\.db/, hint: /^Nothing was changed/ } },
  })
  t.strictSame(await readLockFile(directory), lock)
})

t.test('a module without tables is removed with --purge before any database exists', async (t) => {
  const { root, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  t.match(await run('module-remove', '--purge', 'hello'), {
    exitCode: 0,
    json: { removed: ['hello'], purged: [] },
  })
})

t.test('a running host purges without a failed request', async (t) => {
  const { root, directory, run } = await backedUp(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const host = await runningHost(t, directory)
  let isOver = false
  const statuses = new Set<number>()
  const asking = (async () => {
    for (; !isOver; await pause(5)) statuses.add((await get(host, '/hello')).status)
  })()
  const writing = Array.from({ length: 20 }, () => fetch(`${host.url}/entry`, { method: 'POST' }))
  const done = await run('module-remove', '--purge', 'entry')
  isOver = true
  await asking
  const written = (await Promise.all(writing)).filter(({ status }) => status === 201).length
  t.match(done, { exitCode: 0, json: { live: true, purged: [{ tables: TABLES }] } })
  t.strictSame([...statuses], [200])
  t.equal((await get(host, '/entry')).status, 404)
  await host.close()
  t.notOk(await hasTables(directory))
  await run('restore', join(directory, done.json.purged[0].archive))
  t.equal(await count(t, directory), 5 + written, 'every row that was acknowledged is in the archive')
})

t.test('a module with tables that others refer to is neither purged nor removed', async (t) => {
  const { root, directory, run } = await backedUp(t)
  const other = {
    id: 'other',
    manifest: { tables: 'other', migrations: 'migrations' },
    files: { 'migrations/001-other.sql': 'CREATE TABLE other (entry INTEGER REFERENCES entry (id))' },
  }
  t.equal(
    (await run('module-install', '--yes', await sampleTarball(join(root, 'other.tgz'), other))).exitCode,
    0,
  )
  t.match(await run('module-remove', '--purge', 'entry'), {
    exitCode: 4,
    json: { error: { code: 'not-purgeable', message: /"other" refers to "entry"/ } },
  })
  t.strictSame(Object.keys((await readLockFile(directory)).modules), ['entry', 'other'])
  t.ok(await hasTables(directory))
  t.match(await run('module-remove', '--purge', 'entry', 'other'), {
    exitCode: 0,
    json: { purged: [{ module: 'other' }, { module: 'entry' }] },
  })
  t.notOk(await hasTables(directory))
})

t.test('modules that refer to each other are neither purged nor removed', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const referring = (id: string, other: string) =>
    sampleTarball(join(root, `${id}.tgz`), {
      id,
      manifest: { tables: id, migrations: 'migrations' },
      files: {
        'migrations/001-first.sql': `CREATE TABLE ${id} (id INTEGER PRIMARY KEY, other INTEGER REFERENCES ${other} (id))`,
      },
    })
  const files = [await referring('one', 'two'), await referring('two', 'one')]
  t.equal((await run('module-install', '--yes', ...files)).exitCode, 0)
  t.match(await run('module-remove', '--purge', 'one', 'two'), {
    exitCode: 4,
    json: { error: { code: 'not-purgeable', message: /"two" refers to "one"/ } },
  })
  t.strictSame(Object.keys((await readLockFile(directory)).modules), ['one', 'two'])
})

t.test('if the archive cannot be written, nothing is removed', async (t) => {
  const { directory, run } = await backedUp(t)
  await writeFile(join(directory, '.app', 'purged'), '')
  t.match(await run('module-remove', '--purge', 'entry'), {
    exitCode: 2,
    json: { error: { code: 'not-a-folder', message: /\.app\/purged/ } },
  })
  t.strictSame(Object.keys((await readLockFile(directory)).modules), ['entry'])
  t.ok(await hasTables(directory))
})

t.test('on a terminal it asks; the reply no removes nothing', async (t) => {
  const { directory } = await backedUp(t)
  for (const [reply, exitCode] of [
    ['n', 4],
    ['y', 0],
  ] as const) {
    t.ok(await hasTables(directory))
    const asked = await runOnTerminal(reply, 'module-remove', '--purge', 'entry', '--dir', directory)
    t.match(asked, { exitCode, said: /entry \(5 rows\), entry_twin \(5 rows\).*Drop that\? \[y\/N\]/s })
    t.equal(Object.hasOwn((await readLockFile(directory)).modules, 'entry'), reply === 'n')
  }
  t.notOk(await hasTables(directory))
})

t.test('the printed command restores the tables', async (t) => {
  const { directory } = await backedUp(t)
  const { stdout } = await runApp('module-remove', '--purge', 'entry', '--dir', directory)
  const words = /: app (restore .*)$/m.exec(stdout)?.[1]?.split(' ') ?? []
  const { exitCode, stdout: said } = await runApp(...words)
  t.equal(exitCode, 0)
  t.equal(await count(t, directory), 5)
  const next = /Next: app (module-install .*)$/m.exec(said)?.[1]?.split(' ') ?? []
  t.match(await runApp(...next, '--dir', directory), { exitCode: 0 }, next.join(' '))
})

t.test(
  'a purge is refused while another host on the database serves the module',
  {
    skip: skipPostgres,
  },
  async (t) => {
    const { directory, root, run, v1 } = await noteVersions(t, undefined)
    await usePostgres(t, directory)
    await run('module-install', '--yes', v1)
    const copy = join(root, 'copy')
    await cp(directory, copy, { recursive: true })
    const other = await runningHost(t, copy)
    const refused = { exitCode: 4, json: { error: { code: 'still-served', hint: /^Nothing was changed/ } } }
    t.match(await run('module-remove', '--purge', 'note'), refused, 'while no host runs here')
    const host = await runningHost(t, directory)
    t.match(await run('module-remove', '--purge', 'note'), refused, 'while one runs here')
    t.match((await get(host, '/note')).status, 200)
    await other.close()
    t.match(await run('module-remove', '--purge', 'note'), {
      exitCode: 0,
      json: { purged: [{ module: 'note' }] },
    })
  },
)

t.test(
  'a purge is refused while a foreign view on PostgreSQL uses the tables',
  { skip: skipPostgres },
  async (t) => {
    const { directory, run, v1 } = await noteVersions(t, undefined)
    const { url, execute } = await temporarySchema(t)
    await useDatabase(directory, url)
    await run('module-install', '--yes', v1)
    await execute('CREATE VIEW report AS SELECT count(*) FROM note')
    t.match(await run('module-remove', '--purge', 'note'), {
      exitCode: 4,
      json: { error: { code: 'not-purgeable', message: /other objects depend on it/ } },
    })
    t.strictSame(Object.keys((await readLockFile(directory)).modules), ['note'])
    await execute('DROP VIEW report')
    t.match(await run('module-remove', '--purge', 'note'), { exitCode: 0 })
  },
)

t.test('without --purge the data stay for a later installation', async (t) => {
  const { root, directory, run } = await backedUp(t)
  t.match(await run('module-remove', 'entry'), { exitCode: 0, json: { purged: [] } })
  t.ok(await hasTables(directory))
  await write(directory, 1)
  await run('module-install', '--yes', join(root, 'entry.tgz'))
  t.equal(await count(t, directory), 6)
})
