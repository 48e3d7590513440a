import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { configFile, lockFilePath } from '@mortise/application'
import t, { type Test } from 'tap'
import { versionsOfNote } from './note-versions.ts'
import { disasters, sections } from './operating-page.ts'
import { runApp } from './run-app.ts'
import { door, startApp } from './run-process.ts'

// The disasters of docs/operating.md: each is brought about, and the lines of the page lead out of it.

const { skip, smallVolume } = await import(
  new URL('../../packages/storage/test/small-volume.ts', import.meta.url).href
)
const page = await sections()
const prepared = await prepare()

/** A machine as the page has it: a shop with one note, its backup and its bundle. */
async function prepare() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'mortise-disasters-')))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  await mkdir(join(root, 'srv'))
  await mkdir(join(root, 'var/lib/mortise'), { recursive: true })
  const directory = join(root, 'srv/shop')
  const run = async (...argv: string[]) => {
    const { exitCode, stdout, stderr } = await runApp(...argv, '--dir', directory)
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stdout}${stderr}`)
  }
  await runApp('init', directory)
  const { v1, v2 } = await versionsOfNote({ root } as never, 'ALTER TABLE note DROP COLUMN colour')
  await run('module-install', '--yes', v1)
  await run('module-upgrade', v2).catch(async () => await run('module-install', '--yes', v2))
  const host = startApp(t, ['start', '--port', '0', '--dir', directory])
  const url = await urlOf(host)
  await fetch(`${url}/note`, { method: 'POST' })
  await run('backup', join(root, 'var/lib/mortise/shop.tgz'))
  await run('bundle', join(root, 'var/lib/mortise/shop-2.tgz'))
  host.child.kill('SIGTERM')
  await host.ended
  return { root, packages: [v1, v2] }
}

async function urlOf(host: ReturnType<typeof startApp>): Promise<string> {
  await host.says(/Serving (\S+)\n/)
  return /Serving (\S+)\n/.exec(host.stdout)?.[1] as string
}

/** A machine of the test's own. */
async function machine(t: Test) {
  const root = await realpath(t.testdir({}))
  await cp(prepared.root, root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
  const directory = join(root, 'srv/shop')
  const bin = join(root, 'bin')
  await mkdir(bin)
  await symlink(door, join(bin, 'app'))
  const PATH = [bin, dirname(process.execPath), process.env.PATH].join(delimiter)
  return {
    root,
    directory,
    start: () => startApp(t, ['start', '--port', '0', '--dir', directory]),
    /** Follows the lines of the page below a heading. @returns what they printed, and the exit code of the last */
    async follow(heading: (typeof disasters)[number]) {
      const lines = (page.get(heading) ?? []).map((line) => line.replaceAll(/\/(srv|var)\//g, `${root}/$1/`))
      const child = spawn('sh', ['-c', lines.join('\n')], { env: { ...process.env, PATH } })
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ])
      return { said: stdout + stderr, code: code as number }
    },
    async refuses(code: string) {
      const host = startApp(t, ['start', '--port', '0', '--dir', directory, '--json'])
      t.equal(await host.ended, 2, 'the start refuses')
      t.match(JSON.parse(host.stdout).error, { code })
    },
    /** The shop serves what it had. */
    async serves(version = '2.0.0') {
      const host = startApp(t, ['start', '--port', '0', '--dir', directory])
      const response = await (await fetch(`${await urlOf(host)}/note`)).json()
      t.match(response, { version, notes: [{ body: 'kept' }] })
      host.child.kill('SIGTERM')
      await host.ended
    },
  }
}

t.test('this file tries every disaster of the page', async (t) => {
  const text = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const below = text.slice(text.indexOf('## Disasters'), text.indexOf('### Overload'))
  t.strictSame(
    Array.from(below.matchAll(/^### (.+)$/gm), ([, heading]) => heading),
    [...disasters],
  )
})

t.test('The lock is lost', async (t) => {
  const { directory, refuses, follow, serves } = await machine(t)
  await rm(lockFilePath(directory))
  await refuses('lock-lost')
  t.match(await follow('The lock is lost'), { code: 0, said: /Restored modules.lock.json/ })
  await serves()
})

t.test('The database is lost', async (t) => {
  const { directory, refuses, follow, serves } = await machine(t)
  await rm(join(directory, 'data'), { recursive: true })
  await refuses('database-lost')
  t.match(await follow('The database is lost'), { code: 0, said: /Restored data/ })
  await serves()
})

t.test('The wrong volume is mounted', async (t) => {
  const { root, directory, refuses, follow, serves } = await machine(t)
  const other = join(root, 'srv/other')
  await runApp('init', other)
  const stranger = startApp(t, ['start', '--port', '0', '--dir', other])
  await urlOf(stranger)
  stranger.child.kill('SIGTERM')
  await stranger.ended
  await rename(join(directory, 'data'), join(root, 'right'))
  await cp(join(other, 'data'), join(directory, 'data'), { recursive: true })
  await refuses('other-database')
  t.match(await follow('The wrong volume is mounted'), { code: 1, said: /other-database/ })
  await rm(join(directory, 'data'), { recursive: true })
  await rename(join(root, 'right'), join(directory, 'data'))
  t.match(await follow('The wrong volume is mounted'), { code: 0, said: /No problems found/ })
  await serves()
})

t.test('The packages are lost', async (t) => {
  const { directory, start, follow } = await machine(t)
  // The file that they were installed from is gone too.
  for (const file of prepared.packages) await rm(file, { force: true })
  await rm(join(directory, '.app/store'), { recursive: true })
  const host = start()
  const url = await urlOf(host)
  t.match(await (await fetch(`${url}/note`)).json(), { status: 503, code: 'module-unavailable' })
  t.equal((await fetch(`${url}/health/ready`)).status, 503)
  t.match(await follow('The packages are lost'), { code: 0 })
  t.match(await (await fetch(`${url}/note`)).json(), { notes: [{ body: 'kept' }] })
  t.equal((await fetch(`${url}/health/ready`)).status, 200)
})

t.test('A package is withdrawn from its registry', async (t) => {
  const { root, directory, follow, serves } = await machine(t)
  t.match(await follow('A package is withdrawn from its registry'), { code: 0 })
  await rm(join(directory, '.app/store'), { recursive: true })
  const file = join(root, 'var/lib/mortise/shop-kept.tgz')
  t.equal((await runApp('module-install', '--yes', file, '--offline', '--dir', directory)).exitCode, 0)
  await serves()
})

t.test('A full disk', { skip }, async (t) => {
  const { directory, start, follow } = await machine(t)
  const volume = smallVolume(t, 32)
  const data = join(directory, 'data')
  await cp(data, volume.folder, { recursive: true })
  await rm(data, { recursive: true })
  await symlink(volume.folder, data)
  const host = start()
  const url = await urlOf(host)
  const write = async () => (await fetch(`${url}/note`, { method: 'POST' })).status
  t.equal(await write(), 200)
  volume.fill()
  while ((await write()) !== 503);
  t.equal((await fetch(`${url}/note`)).status, 200, 'reads go on')
  t.match(await follow('A full disk'), { code: 1, said: /storage-full/ })
  volume.empty()
  while ((await write()) !== 200);
  t.match(await follow('A full disk'), { code: 0, said: /No problems found/ })
  host.child.kill('SIGTERM')
  await host.ended
})

t.test('An upgrade turns out to be bad a day later', async (t) => {
  const { directory, follow, serves } = await machine(t)
  const followed = await follow('An upgrade turns out to be bad a day later')
  t.match(followed, { code: 0, said: /app restore \S+undone\S+/ })
  await serves('1.0.0')
  const [, archive = ''] = /app restore (\S*undone\S+)/.exec(followed.said) ?? []
  t.equal((await runApp('restore', join(directory, archive), '--dir', directory)).exitCode, 0)
  await serves('2.0.0')
  t.ok(await readFile(configFile(directory)))
})
