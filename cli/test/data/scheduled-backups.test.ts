import { copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callRunningHost } from '@mortise/host'
import { backUpIfDue } from '@mortise/installer/data'
import t, { type Test } from 'tap'
import { skip, smallVolume } from '../../../packages/storage/test/small-volume.ts'
import { killBefore } from '../kill-before.ts'
import { skip as skipPostgres, temporarySchema } from '../postgres-schema.ts'
import { runApp, testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { runningHost } from '../running-host.ts'

const NAME = /^backup-\w{8}-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.tgz$/

async function scheduled(t: Test, keep = '2') {
  const application = await testApplication(t)
  const { directory, root, run } = application
  const to = join(root, 'backups')
  await mkdir(to)
  const set = await run('backup', '--every', '6h', '--keep', keep, '--to', to)
  t.match(set, { exitCode: 0, json: { every: '6h', to, keep: Number(keep), running: false } })
  const notes: string[] = []
  const due = () => backUpIfDue(directory, (text) => notes.push(text))
  /** As if six hours were over. */
  const later = async () => {
    const begun = Date.now() - 6 * 3_600_000
    await callRunningHost(directory, 'noteBackup', { outcome: 'done', begun, every: 6 * 3_600_000 })
  }
  return { ...application, to, notes, due, later }
}

t.test('a running host backs up when it is due, keeps the newest, and says when it did', async (t) => {
  const { directory, run, to, due, later, notes } = await scheduled(t)
  const host = await runningHost(t, directory)
  t.match(await run('doctor'), { json: { findings: [{ id: 'backup-old', severity: 'warning' }] } })
  const old = ['backup-00000000-2020-01-01T00-00-00Z.tgz', 'mine.tgz']
  for (const name of old) await writeFile(join(to, name), 'of another')
  const files = [await due()]
  t.strictSame(notes, [])
  t.match(files[0]?.slice(to.length + 1), NAME)
  t.equal((await stat(files[0] as string)).mode & 0o777, 0o600)
  t.equal(await due(), undefined, 'the next one is not due')
  t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
  const metrics = await (await fetch(`${host.url}/metrics`)).text()
  const [, seconds] = /^mortise_last_backup_timestamp_seconds (\S+)$/m.exec(metrics) ?? []
  t.ok(Math.abs(Number(seconds) * 1000 - Date.now()) < 60_000)
  for (let time = 0; time < 2; time += 1) {
    await later()
    // Names have whole seconds.
    while (
      new Date().toISOString().slice(0, 19) ===
      new Date((await times(directory)) ?? 0).toISOString().slice(0, 19)
    )
      await new Promise((resolve) => setTimeout(resolve, 50))
    files.push(await due())
  }
  t.strictSame(
    (await readdir(to)).sort(),
    [...old, ...files.slice(1).map((file) => file?.slice(to.length + 1))].sort(),
  )
  t.match(await run('backup', 'verify', files[2] as string), {
    exitCode: 0,
    json: { kind: 'application', rows: { mortise_identity: 1 } },
  })

  await host.close()
  await runningHost(t, directory)
  t.equal(await due(), undefined, 'a restart makes none')
  await later()
  t.ok(await due(), 'one that was missed is made up for')
})

const times = async (directory: string) => (await callRunningHost(directory, 'backups'))?.last

t.test('only one of those who ask at the same time backs up', async (t) => {
  const { directory, to, due } = await scheduled(t)
  await runningHost(t, directory)
  const made = (await Promise.all([due(), due(), due()])).filter((file) => file !== undefined)
  t.equal(made.length, 1)
  t.equal((await readdir(to)).length, 1)
})

t.test('a failed backup replaces none, is a finding, and is tried again', async (t) => {
  const { directory, run, to, due, later, notes } = await scheduled(t, '1')
  await runningHost(t, directory)
  const good = await due()
  await later()
  await rm(to, { recursive: true })
  await mkdir(join(to, '..', 'away'))
  t.equal(await due(), undefined)
  t.match(notes, [/no folder/])
  t.match(await run('doctor'), { json: { findings: [{ id: 'backup-failed', hint: RegExp(to) }] } })
  t.equal(await due(), undefined, 'not at once')
  t.notOk(good === undefined)
})

t.test('what a killed backup left counts for nothing', async (t) => {
  const { directory, run, to, due } = await scheduled(t, '1')
  await runningHost(t, directory)
  const id = JSON.parse(await readFile(join(directory, '.app', 'identity.json'), 'utf8')).database.id
  const left = `.unverified-backup-${id.slice(0, 8)}-2099-01-01T00-00-00Z.tgz`
  const killed = startApp(t, ['backup', join(to, left), '--dir', directory], killBefore(2))
  t.equal(await killed.ended, 'SIGKILL')
  await writeFile(join(to, left), 'half')
  const file = await due()
  t.strictSame(await readdir(to), [file?.slice(to.length + 1)])
  t.match(await run('backup', 'verify', file as string), { exitCode: 0 })
})

t.test(
  'a full disk of the backups fails the backup, and leaves the old ones and serving alone',
  { skip },
  async (t) => {
    const { directory, run, due, later, notes } = await scheduled(t, '1')
    const volume = smallVolume(t, 4)
    t.match(await run('backup', '--every', '6h', '--keep', '1', '--to', volume.folder), { exitCode: 0 })
    const host = await runningHost(t, directory)
    const good = await due()
    await later()
    volume.fill()
    t.equal(await due(), undefined)
    t.match(notes, [/bytes/])
    t.equal((await fetch(`${host.url}/guest`, { method: 'POST' })).status, 201)
    t.match(await run('backup', 'verify', good as string), { exitCode: 0 })
  },
)

t.test('app start backs up by itself', async (t) => {
  const { directory, to } = await scheduled(t)
  const running = startApp(t, ['start', '--dir', directory, '--port', '0'])
  await running.says(/Serving/)
  while (!(await readdir(to)).some((name) => NAME.test(name))) {
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  running.child.kill('SIGTERM')
  t.equal(await running.ended, 0)
})

t.test(
  'none is due, and none fails, between a move of the data and the restart',
  { skip: skipPostgres },
  async (t) => {
    const { directory, run, due, later, notes } = await scheduled(t)
    const host = await runningHost(t, directory)
    t.ok(await due())
    await later()
    const { url } = await temporarySchema(t)
    t.match(await run('migrate-data', '--to', url, '--yes'), { exitCode: 0, json: { moved: true } })
    t.equal(await due(), undefined)
    t.strictSame(notes, [])
    t.notMatch((await run('doctor')).stdout, 'backup-failed')
    await host.close()
    await runningHost(t, directory)
    t.ok(await due(), 'the next host makes up for it')
    t.strictSame(notes, [])
  },
)

t.test('verify refuses what does not restore, and touches nothing', async (t) => {
  const { directory, root, run } = await testApplication(t)
  const file = join(root, 'backup.tgz')
  await run('backup', file)
  const before = await readdir(join(directory, 'data'))
  t.match(await run('backup', 'verify', file), { exitCode: 0, json: { file, generation: 0 } })
  t.strictSame(await readdir(join(directory, 'data')), before)
  const half = join(root, 'half.tgz')
  await copyFile(file, half)
  await truncate(half, Math.floor((await stat(file)).size / 2))
  t.match(await run('backup', 'verify', half), { exitCode: 4, json: { error: { code: 'bad-archive' } } })
  const bytes = await readFile(file)
  bytes[Math.floor(bytes.length / 2)] = (bytes[Math.floor(bytes.length / 2)] as number) ^ 0xff
  await writeFile(half, bytes)
  t.match(await run('backup', 'verify', half), { exitCode: 4, json: { error: { code: 'bad-archive' } } })
  t.match(await run('backup', 'verify', join(root, 'none.tgz')), { exitCode: 3 })
  t.match(await run('backup', 'verify'), { exitCode: 2 }, 'no backup into a file of that name')
  for (const argv of [
    ['a', 'b'],
    ['--every', '6h'],
    ['--every', 'soon', '--to', root],
    [file, '--keep', '2', '--every', '1h', '--to', root],
  ])
    t.match(await run('backup', ...argv), { exitCode: 2 }, argv.join(' '))
  t.match(await run('backup', '--every', '6h', '--to', join(root, 'missing')), { exitCode: 3 })
  t.notOk((await readdir(join(directory, '.app'))).some((name) => name.startsWith('.backup-')))
  t.match(await runApp('backup', '--dir', directory, '--json'), { exitCode: 2 })
})
