import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import {
  type SampleOptions,
  sampleFolder,
  sampleTarball,
} from '../../../packages/installer/test/sample-module.ts'
import { commands } from '../../src/commands/index.ts'
import { packRelease } from '../host-release.ts'
import { killBeforeNaming } from '../kill-before.ts'
import { runOnTerminal, testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

/**
 * All that is in a folder: names, modes, and of files what they hold and when they were written. The lock of the
 * command, `.app/lock`, is aside: a command that looks at an application holds it too, so that nothing changes meanwhile.
 */
async function snapshotOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort()
  const lines = paths.map(async (path) => {
    const { mode, mtimeMs } = await stat(path)
    const isFile = (await stat(path)).isFile()
    const hash = isFile
      ? createHash('sha256')
          .update(await readFile(path))
          .digest('hex')
      : ''
    return `${relative(directory, path)} ${mode.toString(8)} ${isFile ? mtimeMs : ''} ${hash}`
  })
  return (await Promise.all(lines)).filter((line) => !line.startsWith(join('.app', 'lock')))
}

const tables = (id: string): SampleOptions => ({
  manifest: { tables: id, migrations: 'migrations' },
  files: {
    [`migrations/001-${id}.sql`]: `CREATE TABLE ${id} (id TEXT PRIMARY KEY)`,
    [`migrations/001-${id}.down.sql`]: `DROP TABLE ${id}`,
  },
})

const dry: Record<string, readonly (readonly string[])[]> = {
  'module-install': [[], ['<other>'], ['<tarball>', 'mine'], ['mine', '--frozen']],
  'module-upgrade': [[], ['mine']],
  'host-upgrade': [['1.1.0']],
  'module-rollback': [[], ['0'], ['1']],
  'module-remove': [['mine'], ['mine', '--purge']],
  'module-disable': [['mine']],
  'module-enable': [['mine']],
  'module-pause': [['mine', '--for', '10m']],
}

t.test('this file tries every command with --dry-run', async (t) => {
  const having: string[] = []
  for (const { name, load } of commands) {
    if ((await load()).options?.some(([flags]) => flags === '--dry-run')) having.push(name)
  }
  t.strictSame(having.sort(), Object.keys(dry).sort())
})

t.test('a dry run does not change a byte of the application', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const other = await sampleFolder(join(root, 'other'), { id: 'other' })
  const tarball = await sampleTarball(join(root, 'third.tgz'), { id: 'third' })
  const specs: Record<string, string> = { '<other>': other, '<tarball>': tarball }
  await packRelease(join(root, 'packages'), '1.1.0')
  await writeFile(join(directory, '.npmrc'), '@mortise:registry=file:../packages\n')
  const fresh = await snapshotOf(directory)
  t.match(await run('module-install', '--yes', other, '--dry-run'), {
    exitCode: 0,
    json: { installed: [{ id: 'other' }] },
  })
  t.strictSame(await snapshotOf(directory), fresh, 'one that nothing was ever installed in')

  const mine = await sampleFolder(join(root, 'mine'), { id: 'mine' })
  await run(
    'module-install',
    '--yes',
    mine,
    await sampleTarball(join(root, 'gone.tgz'), { id: 'gone', ...tables('gone') }),
  )
  await sampleFolder(mine, { id: 'mine', version: '1.1.0' })
  const before = await snapshotOf(directory)
  const { TMPDIR = tmpdir() } = process.env
  // A packed host finds its dependencies in the checkout; the path of a socket has to be short.
  const inCheckout = await mkdtemp(join(dirname(t.testdirName), 'tmp-'))
  t.teardown(async () => {
    process.env.TMPDIR = TMPDIR
    await rm(inCheckout, { recursive: true })
  })
  for (const [command, calls] of Object.entries(dry)) {
    process.env.TMPDIR = command === 'host-upgrade' ? inCheckout : TMPDIR
    for (const words of calls) {
      const { exitCode, json } = await run(command, ...words.map((word) => specs[word] ?? word), '--dry-run')
      t.match(
        { exitCode, json },
        { exitCode: 0, json: { dryRun: true, generation: 1 } },
        `${command} ${words}`,
      )
      t.strictSame(await snapshotOf(directory), before, `${command} ${words.join(' ')}`)
    }
  }
  const store = join(directory, '.app', 'store')
  for (const name of await readdir(store)) {
    if (name.includes('gone')) await rm(join(store, name), { recursive: true })
  }
  const incomplete = await snapshotOf(directory)
  t.match(await run('module-install', '--dry-run'), { json: { restored: ['gone'], unchanged: ['mine'] } })
  t.strictSame(await snapshotOf(directory), incomplete, 'what is missing is named, not fetched')
  t.match(await run('module-install'), { exitCode: 0, json: { restored: ['gone'] } })
  t.match(await run('module-install', '--dry-run'), { json: { restored: [], unchanged: ['mine', 'gone'] } })
})

const rejected: Record<string, SampleOptions> = {
  throws: { plugin: "throw new Error('on purpose')" },
  exits: { main: 'process.exit(0)' },
  undeclared: {
    plugin: "app.get('/other', { config: { access: 'public' } }, async () => ({}))",
  },
}

t.test('a dry run is refused by the probe like the installation, and changes nothing either', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const first = await sampleTarball(join(root, 'first.tgz'), tables('hello'))
  t.equal((await run('module-install', '--yes', first)).exitCode, 0)
  const running = await runningHost(t, directory)
  // A running host writes its database at any time.
  const state = async () => (await snapshotOf(directory)).filter((line) => !line.startsWith('data/'))
  const before = await state()
  for (const [id, options] of Object.entries(rejected)) {
    const file = await sampleTarball(join(root, `${id}.tgz`), { id, ...options })
    const dry = await run('module-install', '--yes', file, '--dry-run')
    t.match(dry, { exitCode: 4, json: { error: { code: 'probe-failed' } } }, id)
    t.strictSame(await state(), before, id)
    t.strictSame((await run('module-install', '--yes', file)).json, dry.json, `${id}: the same refusal`)
  }
  const sound = await sampleTarball(join(root, 'sound.tgz'), { id: 'sound', ...tables('sound') })
  const { json, stderr } = await run('module-install', '--yes', sound, '--dry-run', '--verbose')
  t.match(json, { dryRun: true, live: true, installed: [{ access: { 'GET /sound': 'public' } }] })
  t.match(stderr, /^sound 1\.0\.0 after loading\n {2}access +GET \/sound \(public\)$/m)
  t.equal((await get(running, '/sound')).status, 404)
})

t.test('on a terminal, a dry run asks before code of a new source runs', async (t) => {
  const { root, directory } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'), { main: 'process.exit(0)' })
  const argv = ['module-install', file, '--dry-run', '--dir', directory] as const
  const declined = await runOnTerminal('n', ...argv)
  t.match(declined, {
    exitCode: 4,
    said: /GET \/hello[\s\S]*hello\.tgz is a new source\. Trust it\? \[y\/N\]/,
  })
  t.match(declined.said, /Nothing was changed: you did not confirm it/)
  t.match(await runOnTerminal('y', ...argv), { exitCode: 4, said: /The module hello is refused/ })
  t.notMatch((await runOnTerminal('n', ...argv, '--yes')).said, /\[y\/N\]/)
})

t.test('a dry run does not complete a killed change, and says so', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  const nodeOptions = killBeforeNaming(join(directory, 'modules.lock.json'))
  await startApp(t, ['module-install', '--yes', file, '--dir', directory], nodeOptions).ended
  const before = await snapshotOf(directory)
  t.match(await run('module-install', '--dry-run'), {
    exitCode: 4,
    json: { error: { code: 'interrupted', hint: /doctor --fix/ } },
  })
  t.strictSame(await snapshotOf(directory), before)
  t.equal((await run('doctor', '--fix')).exitCode, 0)
  t.match(await run('module-install', '--dry-run'), { exitCode: 0, json: { unchanged: ['hello'] } })
})
