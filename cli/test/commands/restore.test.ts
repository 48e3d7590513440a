import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig, readLockFile } from '@mortise/application'
import { runWithoutHost } from '@mortise/host'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { backedUp, count } from '../backed-up.ts'
import { runOnTerminal } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

t.test('restore replaces data and lock file as a new generation, and keeps the replaced data', async (t) => {
  const { root, directory, run, file } = await backedUp(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  t.equal(await count(t, directory), 5)
  const previous = join('data', 'app.db.before-generation-3')
  t.match(await run('restore', file), {
    exitCode: 0,
    json: { kind: 'application', generation: 3, previous, missing: [] },
  })
  t.strictSame(Object.keys((await readLockFile(directory)).modules), ['entry'])
  t.equal(await count(t, directory), 3)
  t.ok(existsSync(join(directory, previous)))
  t.match((await run('module-history')).json.generations.at(-1), { generation: 3, command: /^restore / })
  t.notOk((await readdir(directory)).some((name) => name.endsWith('.restored')))
  t.match(await run('restore', file), { exitCode: 0, json: { generation: 4 } })
  t.equal(await count(t, directory), 3)
})

t.test('on a terminal it asks before it replaces data; the reply no changes nothing', async (t) => {
  const { directory, file } = await backedUp(t)
  for (const [reply, exitCode, rows] of [
    ['n', 4, 5],
    ['y', 0, 3],
  ] as const) {
    const asked = await runOnTerminal(reply, 'restore', file, '--dir', directory)
    t.match(asked, { exitCode, said: /is kept next to it.*Restore that\? \[y\/N\]/s })
    t.equal(await count(t, directory), rows)
  }
  await rm((await readConfig(directory)).databaseFile ?? '')
  t.notMatch(
    (await runOnTerminal('n', 'restore', file, '--dir', directory)).said,
    /\[y\/N\]/,
    'nothing to lose',
  )
  t.equal(await count(t, directory), 3)
})

t.test('a leftover log of the previous database is not replayed on the restored one', async (t) => {
  const { directory, run, file } = await backedUp(t)
  const { databaseFile } = await readConfig(directory)
  const killed = startApp(t, ['start', '--port', '0', '--dir', directory])
  await killed.says(/Serving (\S+)/)
  const url = /Serving (\S+)/.exec(killed.stdout)?.[1]
  for (let time = 0; time < 4; time++) await fetch(`${url}/entry`, { method: 'POST' })
  killed.child.kill('SIGKILL')
  await killed.ended
  t.ok(existsSync(`${databaseFile}-wal`))
  const { exitCode, json } = await run('restore', file)
  t.equal(exitCode, 0)
  t.notOk(existsSync(`${databaseFile}-wal`))
  t.ok(existsSync(join(directory, `${json.previous}-wal`)), 'it stays with what it belongs to')
  t.equal(await count(t, directory), 3)
})

t.test('restore works with a damaged or missing database', async (t) => {
  const { directory, run, file } = await backedUp(t)
  const { databaseFile = '' } = await readConfig(directory)
  await writeFile(databaseFile, 'no database at all '.repeat(1000))
  t.match(await run('restore', file), { exitCode: 0 })
  t.equal(await count(t, directory), 3)
  await rm(databaseFile)
  t.match(await run('restore', file), { exitCode: 0, json: { previous: null } })
  t.equal(await count(t, directory), 3)
})

t.test('the configuration is restored only with --with-config', async (t) => {
  const { directory, run, file } = await backedUp(t)
  const config = join(directory, 'app.config.json')
  const original = await readFile(config, 'utf8')
  const changed = JSON.stringify({ ...JSON.parse(original), database: 'data/other.db' })
  await writeFile(config, changed)
  t.match(await run('restore', file), { exitCode: 0, json: { previous: null } })
  t.equal(await readFile(config, 'utf8'), changed)
  t.equal(await count(t, directory), 3, 'in the database that is configured')
  t.match(await run('restore', file, '--with-config'), { exitCode: 0 })
  t.equal(await readFile(config, 'utf8'), original)
  t.equal(await count(t, directory), 3)
  t.match(await run('restore', file, '--with-secret'), {
    exitCode: 4,
    json: {
      error: { message: /contains no secret/, hint: /^Nothing was changed\. Leave --with-secret out/ },
    },
  })
})

t.test('restore is refused while a host runs, and the host continues', async (t) => {
  const { directory, run, file } = await backedUp(t)
  const host = await runningHost(t, directory)
  t.match(await run('restore', file), {
    exitCode: 4,
    json: { error: { code: 'host-running', hint: /Stop the host/ } },
  })
  t.match(await get(host, '/entry'), { body: { entries: 5 } })
})

t.test('restore brings back the data of a purged module, and the module serves them', async (t) => {
  const { root, directory, run } = await backedUp(t)
  const { json } = await run('module-remove', '--purge', 'entry')
  const archive = join(directory, json.purged[0].archive)
  t.match(await run('restore', archive), {
    exitCode: 0,
    json: { kind: 'module', module: 'entry', tables: ['entry', 'entry_twin'] },
  })
  t.match(await run('restore', archive), { exitCode: 0, json: { tables: [] } })
  t.match((await runWithoutHost(directory, 'schema')).ledger.at(-1), { module: 'entry', name: '001-entry' })
  await run('module-install', '--yes', join(root, 'entry.tgz'))
  t.equal(await count(t, directory), 5)
  await run('module-remove', '--purge', 'entry')
  await run('module-install', '--yes', join(root, 'entry.tgz'))
  t.match(await run('restore', archive), {
    exitCode: 4,
    json: { error: { message: /001-entry is applied/ } },
  })
})
