import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import { withCommandLock } from '@mortise/installer/changes'
import { whileBackingUp } from '@mortise/installer/store'
import { findCorruption } from '@mortise/storage'
import t, { type Test } from 'tap'
import { list } from 'tar'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { entryModule } from '../entry-module.ts'
import { killBefore } from '../kill-before.ts'
import { runApp, testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

async function withEntries(t: Test) {
  const application = await testApplication(t)
  const source = await sampleTarball(join(application.root, 'entry.tgz'), entryModule())
  t.equal((await application.run('module-install', '--yes', source)).exitCode, 0)
  return { ...application, file: join(application.root, 'backup.tgz') }
}

async function post(url: string, times = 1): Promise<void> {
  for (let time = 0; time < times; time++) {
    const response = await fetch(`${url}/entry`, { method: 'POST' })
    if (response.status !== 201) throw new Error(await response.text())
    await response.arrayBuffer()
  }
}

/** Another application, in an empty folder. */
async function another(root: string) {
  const directory = join(root, 'other')
  await mkdir(directory)
  await runApp('init', directory, '--json')
  return { directory, run: (...argv: string[]) => runApp(...argv, '--dir', directory, '--json') }
}

async function namesIn(file: string): Promise<string[]> {
  const names: string[] = []
  await list({ file, onReadEntry: (entry) => names.push(entry.path) })
  return names
}

t.test('a backup of a running host restores all committed data elsewhere, with the event log', async (t) => {
  const { root, directory, run, file } = await withEntries(t)
  const host = await runningHost(t, directory)
  await post(host.url, 3)
  t.ok((await stat(join(directory, 'data', 'app.db-wal')).catch(() => undefined))?.size, 'there is a log')
  const done = await run('backup', file)
  t.match(done, {
    exitCode: 0,
    json: { file, generation: 1, parts: ['modules.lock.json', 'app.config.json', 'data.db'] },
  })
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.equal((await stat(file)).size, done.json.bytes)
  t.strictSame(await namesIn(file), ['manifest.json', 'modules.lock.json', 'app.config.json', 'data.db'])
  t.notOk((await readdir(root)).some((name) => name.endsWith('.tmp')))
  await post(host.url, 2)

  const other = await another(root)
  const restored = await other.run('restore', file, '--yes')
  t.match(restored, {
    exitCode: 0,
    json: {
      kind: 'application',
      generation: 1,
      restored: ['data.db', 'modules.lock.json'],
      previous: null,
      missing: ['entry'],
    },
  })
  t.match(await readLockFile(other.directory), {
    generation: 1,
    modules: (await readLockFile(directory)).modules,
  })
  t.match(await other.run('module-install'), { exitCode: 0, json: { restored: ['entry'] } })
  const second = await runningHost(t, other.directory)
  t.match(await get(second, '/entry'), { status: 200, body: { entries: 3, twins: 3 } })
  t.match(await get(host, '/entry'), { body: { entries: 5, twins: 5 } }, 'the first continues')
})

t.test('during writes, a backup has each transaction completely or not at all', async (t) => {
  const { root, directory, run, file } = await withEntries(t)
  const host = await runningHost(t, directory)
  let written = 0
  let backingUp = true
  const writers = Array.from({ length: 8 }, async () => {
    while (backingUp) {
      await post(host.url)
      written += 1
    }
  })
  await post(host.url, 50)
  const before = written + 50
  t.match(await run('backup', file), { exitCode: 0 })
  backingUp = false
  await Promise.all(writers)
  t.ok(written > 0)
  const other = await another(root)
  t.match(await other.run('restore', file, '--yes'), { exitCode: 0 })
  t.equal(findCorruption(join(other.directory, 'data', 'app.db')), undefined)
  await other.run('module-install')
  const { body } = await get(await runningHost(t, other.directory), '/entry')
  t.equal(body.entries, body.twins)
  t.ok(body.entries >= before && body.entries <= before + written)
})

t.test('backup works on a stopped application and on one that never started', async (t) => {
  const { root, directory, run } = await testApplication(t)
  t.match(await run('backup', join(root, 'empty.tgz')), { exitCode: 0, json: { generation: 0 } })
  t.match(await run('restore', join(root, 'empty.tgz')), { exitCode: 0, json: { generation: 1 } })
  const host = await runningHost(t, directory)
  t.equal((await get(host, '/health/ready')).status, 200)
})

t.test('a backup has the secret only with --with-secret', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = join(root, 'backup.tgz')
  const { json } = await run('backup', file, '--with-secret')
  t.strictSame(json.parts, ['modules.lock.json', 'app.config.json', 'secret', 'data.db'])
  const secret = await readFile(join(directory, '.app', 'secret'), 'utf8')
  await writeFile(join(directory, '.app', 'secret'), 'another secret that is as long as it must be')
  await run('restore', file, '--yes')
  t.match(await readFile(join(directory, '.app', 'secret'), 'utf8'), /another/)
  t.match(await run('restore', file, '--with-secret'), { exitCode: 0 })
  t.equal(await readFile(join(directory, '.app', 'secret'), 'utf8'), secret)
  t.equal((await stat(join(directory, '.app', 'secret'))).mode & 0o777, 0o600)
  await rm(join(directory, '.app', 'secret'))
  t.match(await run('backup', join(root, 'two.tgz'), '--with-secret'), {
    exitCode: 3,
    json: { error: { code: 'no-secret' } },
  })
  t.notOk(existsSync(join(root, 'two.tgz')))
})

t.test('backup overwrites no file and creates no folder', async (t) => {
  const { root, run } = await testApplication(t)
  const file = join(root, 'mine')
  await writeFile(file, 'mine')
  t.match(await run('backup', file), { exitCode: 4, json: { error: { code: 'file-exists' } } })
  t.equal(await readFile(file, 'utf8'), 'mine')
  t.match(await run('backup', join(root, 'no', 'x.tgz')), {
    exitCode: 3,
    json: { error: { code: 'no-folder' } },
  })
  t.match(await run('backup'), { exitCode: 2 })
})

t.test('the next backup removes the remains of a killed backup to the same file', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = join(root, 'backup.tgz')
  const killed = startApp(t, ['backup', file, '--dir', directory], killBefore(2))
  t.equal(await killed.ended, 'SIGKILL')
  const left = async () => (await readdir(root)).filter((name) => /^backup/.test(name))
  t.match(await left(), [/^backup\.tgz\.[0-9a-f]{12}\.tmp$/])
  await writeFile(`${file}.tmp`, 'mine')
  t.equal((await run('backup', file)).exitCode, 0)
  t.strictSame(await left(), ['backup.tgz', 'backup.tgz.tmp'])
})

t.test('a backup needs no lock and blocks no other command', async (t) => {
  const { root, directory, run, file } = await withEntries(t)
  await withCommandLock(directory, 'nothing', async () => {
    t.match(await run('backup', file), { exitCode: 0, json: { generation: 1 } })
  })
  await whileBackingUp(directory, async (folder) => {
    t.match(await run('module-disable', 'entry'), { exitCode: 0 })
    t.ok(existsSync(folder), 'its parts are not taken for leftovers')
  })
  t.match(await run('backup', join(root, 'two.tgz')), { exitCode: 0, json: { generation: 2 } })
  t.notOk((await readdir(join(directory, '.app'))).some((name) => name.startsWith('.backup-')))
})

t.test('the next change removes the remains of a killed backup', async (t) => {
  const { directory, run } = await testApplication(t)
  const left = join(directory, '.app', '.backup-0123456789abcdef')
  await mkdir(left)
  t.match(await run('doctor'), { exitCode: 1, json: { findings: [{ id: 'leftovers' }] } })
  await run('module-disable', 'x')
  t.notOk(existsSync(left))
})
