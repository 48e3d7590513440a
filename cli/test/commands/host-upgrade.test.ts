import { readdirSync, watch } from 'node:fs'
import { chown, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type LockFile, readLockFile, storedModule } from '@mortise/application'
import { hostMigrations } from '@mortise/host'
import { writeJournal } from '@mortise/installer/changes'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { addRelease, applicationWithRelease, packRelease } from '../host-release.ts'
import { interruptedChange } from '../interrupted-change.ts'
import { copiesOf, runApp } from '../run-app.ts'
import { type Running, startApp } from '../run-process.ts'

const own = readdirSync(hostMigrations.directory).map((file) => Number.parseInt(file, 10))
/** The number of the next migration of the host's own. */
const number = String(Math.max(...own) + 1).padStart(3, '0')

/** A migration of the host's own. */
const note = {
  [`${number}-note.sql`]: 'CREATE TABLE mortise_note (text TEXT);',
  [`${number}-note.down.sql`]: 'DROP TABLE mortise_note;',
}

/** A module for hosts of two versions. */
const hi = { id: 'hi', manifest: { host: '^1.0.0 || ^2.0.0' } }

/** The real command, which continues in the pinned host: its exit code and its document. */
async function app(t: Test, directory: string, ...argv: string[]) {
  const called = startApp(t, [...argv, '--dir', directory, '--json'])
  const exitCode = await called.ended
  return { exitCode, json: JSON.parse(called.stdout) }
}

/** `app start`, by the real command; what it says of itself. */
async function start(t: Test, directory: string, program?: string) {
  const host = startApp(t, ['start', '--port', '0', '--json', '--dir', directory], [], program)
  await host.says(/^}/m)
  return { host, state: JSON.parse(host.stdout) }
}

async function stop(host: Running): Promise<void> {
  host.child.kill('SIGTERM')
  await host.ended
}

const responseOf = async (url: string) => (await fetch(`${url}/hello`)).status

const locationOf = (directory: string, { host }: LockFile) =>
  storedModule(directory, host as NonNullable<LockFile['host']>)

/** An application that pins 1.1.0. */
const pinnedApplication = copiesOf(async (application) => {
  await addRelease(application, '1.1.0')
  await application.run('host-upgrade', '1.1.0')
})

t.test('a host can be upgraded, restarted and rolled back with its migrations', async (t) => {
  const { directory } = await applicationWithRelease(t, '1.1.0', { migrations: note })
  const previous = await start(t, directory)
  t.equal(previous.state.host, '1.0.0')

  const upgraded = await app(t, directory, 'host-upgrade', '1.1.0')
  t.match(upgraded, {
    exitCode: 0,
    json: {
      host: { from: '1.0.0', to: '1.1.0', inRange: ['hello'], outside: [] },
      disabled: [],
      running: { pid: previous.state.pid, version: '1.0.0' },
      live: true,
    },
  })
  t.equal(await responseOf(previous.state.url), 200, 'the running host continues')
  await stop(previous.host)

  const newer = await start(t, directory)
  t.match(newer.state, { host: '1.1.0', modules: [{ id: 'hello', state: 'active' }] })
  t.equal(await responseOf(newer.state.url), 200)
  t.match(await app(t, directory, 'module-rollback'), {
    exitCode: 4,
    json: { error: { code: 'host-running' } },
  })
  await stop(newer.host)
  t.match(await app(t, directory, 'module-rollback'), {
    exitCode: 0,
    json: { to: 1, undone: [`host/${number}-note`] },
  })
  const again = await start(t, directory)
  t.match(again.state, { host: '1.0.0', modules: [{ id: 'hello', state: 'active' }] })
})

t.test(
  'if the host is already pinned, there is nothing to do, and the command does not unpack the package',
  async (t) => {
    const { root, directory } = await pinnedApplication(t)
    const lock = await readLockFile(directory)
    const store = join(directory, '.app', 'store')
    const seen: string[] = []
    const watching = watch(store, (_, name) => seen.push(String(name)))
    t.teardown(() => watching.close())
    const file = join(root, 'packages', 'mortise-cli-1.1.0.tgz')
    for (const version of ['1.1.0', 'latest', file]) {
      t.match(await app(t, directory, 'host-upgrade', version), { exitCode: 0, json: { host: null } })
    }
    t.strictSame(seen, [])
    t.strictSame(await readLockFile(directory), lock)
    await writeFile(join(locationOf(directory, lock), 'README.md'), 'damaged')
    const repaired = await app(t, directory, 'host-upgrade', '1.1.0')
    t.match(repaired, { exitCode: 0, json: { host: { to: '1.1.0' } } }, 'one that is damaged is not there')
  },
)

t.test('without a newer host it says so and fetches nothing, also if no host is pinned', async (t) => {
  for (const version of ['1.0.0', '0.9.0']) {
    const { directory, run } = await applicationWithRelease(t, version)
    const before = await readLockFile(directory)
    for (const more of [[], ['--dry-run']]) {
      t.match(await run('host-upgrade', ...more), { exitCode: 0, json: { host: null, disabled: [] } })
    }
    const { stdout } = await runApp('host-upgrade', '--dir', directory)
    t.equal(stdout, 'Nothing to do: there is no newer host than 1.0.0.\n')
    t.strictSame(await readLockFile(directory), before)
  }
})

t.test('the plan says that a host is older', async (t) => {
  const { root, run } = await pinnedApplication(t)
  await packRelease(join(root, 'packages'), '1.0.5')
  const { json, stderr } = await run('host-upgrade', '1.0.5')
  t.match(json, { host: { from: '1.1.0', to: '1.0.5', isOlder: true } })
  t.match(stderr, /^host 1\.1\.0 → 1\.0\.5, which is older$/m)
  t.match((await run('host-upgrade', '1.1.0')).stderr, /^host 1\.0\.5 → 1\.1\.0$/m)
})

t.test('a module outside the host range is a refusal, or is disabled in the same change', async (t) => {
  const { directory, run } = await applicationWithRelease(t, '2.0.0', { migrations: note })
  const before = await readLockFile(directory)
  const refused = await run('host-upgrade', '2.0.0')
  t.match(refused, {
    exitCode: 4,
    stderr: /hello 1\.0\.0: needs host \^1\.0\.0/,
    json: {
      error: { code: 'host-range', message: /hello 1\.0\.0 needs host/, hint: /--disable-incompatible/ },
    },
  })
  t.strictSame(await readLockFile(directory), before)

  const forced = await run('host-upgrade', '2.0.0', '--disable-incompatible')
  t.match(forced, { exitCode: 0, json: { disabled: ['hello'], generation: 2 } })
  const pinned = await readLockFile(directory)
  t.match(pinned, { host: { version: '2.0.0' }, modules: { hello: { enabled: false } } })
  t.match(await app(t, directory, 'module-enable', 'hello'), {
    exitCode: 4,
    json: { error: { code: 'host-range' } },
  })
  t.equal((await run('module-rollback')).exitCode, 0)
  t.strictSame(await readLockFile(directory), { ...before, generation: 3 })

  // Who calls a newer `app` where none is pinned: the module returns 503, and the start says why.
  const newer = await start(t, directory, join(locationOf(directory, pinned), 'bin.js'))
  t.match(newer.state, {
    host: '2.0.0',
    modules: [{ id: 'hello', state: 'failed', reason: /needs a host \^1\.0\.0, .*module-upgrade/ }],
  })
  t.equal(await responseOf(newer.state.url), 503)
  await stop(newer.host)
  // The older one does not know what the newer has made of the database.
  t.match(await app(t, directory, 'start', '--port', '0'), {
    exitCode: 4,
    json: { error: { code: 'newer-host', message: new RegExp(`${number}-note`) } },
  })
  t.match((await run('doctor')).json, { findings: [{ id: 'host-too-old', severity: 'error' }] })
  // Had the way back been cut short, the start completes it.
  const next = await readLockFile(directory)
  const undo = [{ module: 'host', name: `${number}-note` }]
  await writeJournal(directory, { ...interruptedChange('module-rollback', pinned, next), undo })
  t.match((await start(t, directory)).state, { host: '1.0.0', modules: [{ state: 'active' }] })
})

t.test('a host that cannot run the application is refused before any change', async (t) => {
  const { root, directory, run } = await applicationWithRelease(t, '1.1.0', {
    migrations: { [`${number}-wrong.sql`]: 'CREATE TABLE wrong (text TEXT);' },
  })
  const before = await readLockFile(directory)
  const refusals: [argv: string[], code: string, message: RegExp][] = [
    [['1.1.0'], 'host-refused', /may only change "mortise"/],
    [['9.9.9'], 'no-such-version', /9\.9\.9/],
    [['github:a/b'], 'refused-source', /git/],
    [[join(root, 'hello.tgz')], 'no-host', /it is @acme\/hello/],
  ]
  for (const [argv, code, message] of refusals) {
    t.match((await run('host-upgrade', ...argv)).json, { error: { code, message } }, code)
    t.strictSame(await readLockFile(directory), before)
  }
  await packRelease(join(root, 'packages'), '1.3.0', { host: '1.1.0' })
  t.match((await run('host-upgrade', '1.3.0')).json, {
    error: {
      code: 'no-host',
      message: /its version is 1\.3\.0, and the version of its @mortise\/host is 1\.1\.0/,
    },
  })
  await rm(join(root, 'packages', 'mortise-cli-1.3.0.tgz'))
  await packRelease(join(root, 'packages'), '1.2.0', { cli: { 'dist/app.js': 'throw new Error("broken")' } })
  t.match(await run('host-upgrade'), {
    exitCode: 4,
    json: { error: { code: 'host-refused', message: /1\.2\.0 is refused: it does not start: .*broken/ } },
  })
  t.strictSame(
    (await readdir(join(directory, '.app', 'store'))).filter((name) => name.startsWith('@mortise')),
    [],
  )
})

t.test('a damaged or missing pinned host is reported, and module-install restores it', async (t) => {
  const { directory, run } = await pinnedApplication(t)
  const place = locationOf(directory, await readLockFile(directory))
  const incomplete = { exitCode: 4, json: { error: { code: 'host-incomplete', hint: /module-install/ } } }
  await writeFile(join(place, 'dist', 'more.js'), '')
  t.match(await app(t, directory, 'start', '--port', '0'), incomplete)
  await rm(join(place, 'dist', 'app.js'))
  t.match(await app(t, directory, 'module-list'), incomplete)
  t.match((await run('doctor')).json.findings, [{ id: 'package-damaged', message: /^host 1\.1\.0/ }])

  await rm(place, { recursive: true })
  t.match(await app(t, directory, 'module-list'), incomplete)
  t.match(await run('module-install', 'api-cart'), incomplete)
  process.env.MORTISE_UNPINNED = '1'
  t.equal((await app(t, directory, 'module-list')).exitCode, 0)
  delete process.env.MORTISE_UNPINNED
  t.match(await app(t, directory, 'module-install', '--offline'), {
    exitCode: 0,
    json: { restored: ['host'] },
  })
  t.equal((await app(t, directory, 'module-list')).exitCode, 0)
  t.match(await run('host-upgrade', '1.1.0'), { exitCode: 0, json: { host: null, generation: 2 } })
})

const unlessRoot = process.geteuid?.() !== 0 && 'only root can give files away'

t.test('a pinned host of another user does not run', { skip: unlessRoot }, async (t) => {
  const { directory } = await pinnedApplication(t)
  await chown(join(locationOf(directory, await readLockFile(directory)), 'bin.js'), 65534, 65534)
  t.match(await app(t, directory, 'module-list'), {
    exitCode: 4,
    json: { error: { code: 'host-of-another-user', message: /belongs to another user \(65534\)/ } },
  })
})

t.test('a bundle installs the pinned host elsewhere without a network', async (t) => {
  const { root, directory, run } = await applicationWithRelease(t, '2.0.0')
  t.equal((await run('module-install', '--yes', await sampleTarball(join(root, 'hi.tgz'), hi))).exitCode, 0)
  t.equal((await run('host-upgrade', '2.0.0', '--disable-incompatible')).exitCode, 0)
  const file = join(root, 'shop.tgz')
  t.match(await run('bundle', file), {
    exitCode: 0,
    json: { host: '2.0.0', modules: [{ id: 'hello' }, { id: 'hi' }] },
  })
  await rm(join(root, 'packages'), { recursive: true })

  const production = join(root, 'production')
  await runApp('init', production)
  const installed = await runApp('module-install', '--yes', file, '--offline', '--dir', production, '--json')
  t.match(installed, {
    exitCode: 0,
    json: { host: { to: '2.0.0' }, installed: [{ id: 'hello' }, { id: 'hi' }] },
  })
  const { generation: _, ...lock } = await readLockFile(production)
  t.match(await readLockFile(directory), lock)
  t.match((await start(t, production)).state, {
    host: '2.0.0',
    modules: [
      { id: 'hi', state: 'active' },
      { id: 'hello', state: 'disabled' },
    ],
  })
})
