import { once } from 'node:events'
import fs, { readFile, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { readLockFile, writeLockFile } from '@mortise/application'
import { callRunningHost, controlSocket } from '@mortise/host'
import { readJournal, writeJournal } from '@mortise/installer/changes'
import type { DatabaseSchema } from '@mortise/storage'
import t from 'tap'
import { sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { interruptedChange } from '../../interrupted-change.ts'
import { testApplication } from '../../run-app.ts'
import { get, runningHost } from '../../running-host.ts'

t.test('a running host applies installations, replacements and removals at once', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const running = await runningHost(t, directory)
  t.equal((await get(running, '/hello')).status, 404)
  const one = await sampleTarball(join(root, 'hello-1.tgz'))
  const two = await sampleTarball(join(root, 'hello-2.tgz'), { version: '2.0.0' })
  t.match((await run('module-install', '--yes', one)).json, { live: true, generation: 1 })
  t.match(await get(running, '/hello'), { status: 200, body: { version: '1.0.0' } })
  t.match((await run('module-install', '--yes', two)).json, {
    live: true,
    installed: [{ replaces: '1.0.0' }],
  })
  t.match(await get(running, '/hello'), { status: 200, body: { version: '2.0.0' } })
  t.match((await run('module-remove', 'hello')).json, { removed: ['hello'], live: true })
  t.equal((await get(running, '/hello')).status, 404)
})

t.test('a failed module does not block the installation of another', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const config = JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8'))
  await writeFile(
    join(directory, 'app.config.json'),
    JSON.stringify({ ...config, modules: { hello: { x: 1 } } }),
  )
  const running = await runningHost(t, directory)
  t.equal((await get(running, '/hello')).status, 503)
  t.match(await run('module-install', '--yes', await sampleTarball(join(root, 'b.tgz'), { id: 'b' })), {
    exitCode: 0,
    json: { live: true },
  })
  t.equal((await get(running, '/b')).status, 200)
  t.match((await run('module-list')).json.modules, [
    { id: 'hello', state: 'failed', reason: /has no settings/ },
    { id: 'b', state: 'active' },
  ])
})

t.test('if the host cannot apply a change, the previous modules stay: exit 5', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const running = await runningHost(t, directory)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const previous = await readLockFile(directory)
  // Passes the probe, whose environment is empty, and fails in the host.
  const plugin = `if (process.env.MORTISE_TEST_FAIL) throw new Error('not here'); app.get('/b', { config: { access: 'public' } }, async () => ({}))`
  process.env.MORTISE_TEST_FAIL = '1'
  t.teardown(() => delete process.env.MORTISE_TEST_FAIL)
  const outcome = await run(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'b.tgz'), { id: 'b', plugin }),
  )
  t.match(outcome, {
    exitCode: 5,
    json: { error: { code: 'activation-failed', message: /not here.*previous modules serve again/ } },
  })
  const lock = await readLockFile(directory)
  t.strictSame(lock.modules, previous.modules)
  t.equal(lock.generation, previous.generation + 2)
  t.equal(running.state().generation, lock.generation)
  t.equal((await get(running, '/hello')).status, 200)
  t.match((await run('audit')).json.records, [
    { seq: 2, action: 'module-install', object: 'b', outcome: 'reverted' },
    { seq: 1, object: 'hello', outcome: 'done' },
  ])
})

t.test('data survive a removal and are there after the next installation', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const running = await runningHost(t, directory)
  const file = await sampleTarball(join(root, 'note.tgz'), {
    id: 'note',
    manifest: { tables: 'note', migrations: 'migrations', routes: ['POST /note', 'GET /note'] },
    files: {
      'migrations/001-note.sql': 'CREATE TABLE note (body TEXT)',
      'migrations/001-note.down.sql': 'DROP TABLE note',
    },
    main: `import { defineModule, sql, run } from '@mortise/module-sdk'
      export default defineModule('note').plugin(async (app, { database }) => {
        const config = { access: 'public' }
        app.post('/note', { config }, async () => {
          await database.transaction(function* () { yield* run(sql\`INSERT INTO note VALUES ('kept')\`) })
          return {}
        })
        app.get('/note', { config }, async () => ({ data: await database.many(sql\`SELECT body FROM note\`) }))
      })`,
  })
  t.match((await run('module-install', '--yes', file)).json, { migrations: ['note/001-note'], live: true })
  await fetch(`${running.url}/note`, { method: 'POST' })
  await run('module-remove', 'note')
  t.equal((await get(running, '/note')).status, 404)
  t.match((await run('module-install', '--yes', file)).json, { migrations: [], live: true })
  t.match(await get(running, '/note'), { body: { data: [{ body: 'kept' }] } })
})

t.test('a running host applies restored packages', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  await rm(join(directory, '.app', 'store'), { recursive: true })
  const running = await runningHost(t, directory)
  t.equal((await get(running, '/hello')).status, 503)
  t.match(await run('module-install'), { exitCode: 0, json: { restored: ['hello'], live: true } })
  t.match(await get(running, '/hello'), { status: 200, body: { version: '1.0.0' } })
  t.equal((await readLockFile(directory)).generation, 1, 'the lock stays as it is')
})

t.test(
  'a version that fails its self-check is reverted with its migrations, and the old one serves',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    const running = await runningHost(t, directory)
    // Passes the probe, whose environment is empty, and fails in the host.
    process.env.MORTISE_TEST_FAIL = '1'
    t.teardown(() => delete process.env.MORTISE_TEST_FAIL)
    const note = (version: string, more: object, first = '') =>
      sampleTarball(join(root, `note-${version}.tgz`), {
        id: 'note',
        version,
        manifest: { tables: 'note', migrations: 'migrations', routes: ['GET /note'] },
        files: {
          'migrations/001-note.sql': 'CREATE TABLE note (body TEXT)',
          'migrations/001-note.down.sql': 'DROP TABLE note',
          ...more,
        },
        main: `import { defineModule, sql } from '@mortise/module-sdk'
        export default defineModule('note').plugin(async (app, { database }) => {
          app.get('/note', { config: { access: 'public' } }, async () => {
            ${first}
            return { data: await database.many(sql\`SELECT body FROM note\`) }
          })
        })`,
      })
    await run('module-install', '--yes', await note('1.0.0', {}))
    const more = {
      'migrations/002-more.sql': 'ALTER TABLE note ADD COLUMN more TEXT',
      'migrations/002-more.down.sql': 'ALTER TABLE note DROP COLUMN more',
    }
    const broken = await note('2.0.0', more, `if (process.env.MORTISE_TEST_FAIL) throw new Error('not here')`)
    t.match(await run('module-install', '--yes', broken), {
      exitCode: 5,
      json: {
        error: {
          code: 'activation-failed',
          message: /note: its route GET \/note responds with 500 in the self-check/,
          hint: /app restore \S+\.app\/undone\/1\.tgz/,
        },
      },
    })
    t.match(await get(running, '/note'), { status: 200, body: { data: [] } })
    const { ledger, statements } = (await callRunningHost(directory, 'schema')) as DatabaseSchema
    t.strictSame(
      ledger.filter(({ module }) => module === 'note').map(({ name }) => name),
      ['001-note'],
    )
    t.notMatch(statements.join(), /more TEXT/)
    t.match(
      await run('module-rollback'),
      { exitCode: 0, json: { to: 0, live: true } },
      'what was reverted is no way back',
    )
  },
)

t.test('if the host ends during a migration, the previous modules stay, with a message', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  const dying = createServer((socket) => socket.once('data', () => socket.destroy()))
  await once(dying.listen(controlSocket(directory)), 'listening')
  t.match(await run('module-install', '--yes', file), {
    exitCode: 1,
    json: { error: { code: 'host-gone', message: /^The running host ended before it responded/ } },
  })
  await new Promise((resolve) => dying.close(resolve))
  t.strictSame((await readLockFile(directory)).modules, {})
  t.equal(await readJournal(directory), undefined)
  t.match(await run('module-install', '--yes', file), { exitCode: 0 })
})

t.test('the next command completes a killed change from any step', async (t) => {
  for (const reached of ['the journal', 'the lock']) {
    await t.test(reached, async (t) => {
      const { root, directory, run } = await testApplication(t)
      const file = await sampleTarball(join(root, 'hello.tgz'))
      await run('module-install', '--yes', file)
      const next = await readLockFile(directory)
      const previous = { ...next, generation: 0, modules: {} }
      await writeJournal(directory, interruptedChange('module-install hello', previous, next))
      if (reached === 'the journal') await writeLockFile(directory, previous)
      const outcome = await run('module-disable', 'hello')
      t.match(outcome.stderr, /Completed "module-install hello", which was interrupted/)
      t.match(outcome, { exitCode: 0, json: { generation: 2 } })
      t.equal(await readJournal(directory), undefined)
    })
  }
})

for (const [file, argv] of [
  ['app.config.json', ['config', 'set', 'server.drainSeconds', '2']],
  ['modules.lock.json', ['module-disable', 'hello']],
] as const) {
  t.test(`a change whose ${file} cannot be written never happens`, async (t) => {
    const { root, directory, run } = await testApplication(t)
    t.match(await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz'))), {
      exitCode: 0,
    })
    const path = join(directory, file)
    const before = await readFile(path, 'utf8')
    const { exitCode, json } = await withoutRoomFor(path, () => run(...argv))
    t.not(exitCode, 0)
    t.match(json.error.message, path)
    t.equal(await readFile(path, 'utf8'), before)
    t.equal(await readJournal(directory), undefined)
    t.notMatch((await run('module-enable', 'hello')).stderr, /Completed/)
    t.match(await run(...argv), { exitCode: 0 })
  })
}

/** Does `work` while nothing can be put in the place of `file`, as on a full disk. */
async function withoutRoomFor<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const { rename } = fs
  fs.rename = async (from, to) => {
    if (to === file) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    return rename(from, to)
  }
  syncBuiltinESMExports()
  try {
    return await work()
  } finally {
    fs.rename = rename
    syncBuiltinESMExports()
  }
}
