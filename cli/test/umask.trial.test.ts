import { mkdir, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { entryModule } from './entry-module.ts'
import { startApp } from './run-process.ts'

/** Every file and folder below `root`, with its mode. */
async function modesBelow(root: string): Promise<Map<string, number>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => !entry.isSymbolicLink())
    .map(({ parentPath, name }) => join(parentPath, name))
  const modes = await Promise.all(
    // A temporary file may be gone by now.
    paths.map(async (path) => [path, (await stat(path).catch(() => undefined))?.mode] as const),
  )
  return new Map(modes.flatMap(([path, mode]) => (mode === undefined ? [] : [[path, mode & 0o777]])))
}

t.test('under umask 000 others can write nothing, and private files stay private', async (t) => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'mortise-umask-')))
  const umask = process.umask(0o000)
  t.teardown(async () => {
    process.umask(umask)
    await rm(root, { recursive: true, force: true })
  })
  const made = join(root, 'made')
  const directory = join(made, 'shop')
  const environment = { HOME: join(made, 'home'), TMPDIR: join(made, 'tmp'), npm_config_cache: undefined }
  for (const folder of [made, environment.HOME, environment.TMPDIR]) await mkdir(folder, { mode: 0o700 })
  const start = (...argv: string[]) => startApp(t, argv, [], undefined, { environment })
  const run = async (...argv: string[]) => {
    const ran = start(...argv, '--dir', directory, '--json')
    t.equal(await ran.ended, 0, argv.join(' '))
  }
  const seen = new Map<string, number>()
  const look = async () => {
    for (const [path, mode] of await modesBelow(made)) seen.set(path.slice(made.length + 1), mode)
  }

  t.equal(await start('init', directory).ended, 0)
  await look()
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const host = start('start', '--port', '0', '--dir', directory)
  await host.says(/Serving http:\S+/)
  const url = /http:\S+/.exec(host.stdout)?.[0]
  await run('module-install', '--yes', await sampleTarball(join(root, 'entry.tgz'), entryModule()))
  t.equal((await fetch(`${url}/entry`, { method: 'POST' })).status, 201)
  await run('config', 'set', 'rateLimit.max', '900')
  await look()
  await run('module-disable', 'hello')
  await run('module-rollback')
  await look()
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
  await run('backup', join(made, 'backup.tgz'))
  await run('module-remove', 'entry', '--purge')
  await run('restore', join(made, 'backup.tgz'), '--yes')
  await look()

  const open = (mask: number) => [...seen].filter(([, mode]) => (mode & mask) !== 0).map(([path]) => path)
  t.same(open(0o022), [], 'nobody else may write')
  const readable = new Set(open(0o077))
  for (const path of [
    'backup.tgz',
    'shop/.app',
    'shop/.app/audit',
    'shop/.app/identity.json',
    'shop/.app/purged',
    'shop/.app/secret',
    'shop/.app/snapshots',
    'shop/data',
    'shop/data/app.db',
    'shop/data/app.db-wal',
    'shop/data/app.db-shm',
  ]) {
    t.ok(seen.has(path), `${path} was made`)
    t.notOk(readable.has(path), `${path} is private`)
  }
  const shared =
    /^shop(\/(app\.config\.json|modules\.lock\.json|\.gitignore))?$|^shop\/\.app\/store(\/|$)|^home\/\.npm(\/|$)/
  t.same(
    [...readable].filter((path) => !shared.test(path)),
    [],
    'all that others may read is for the repository, or public packages',
  )
  t.ok([...seen.keys()].some((path) => /control.*\.sock$/.test(path)))
})
