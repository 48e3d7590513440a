import { cp, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { skip, smallVolume } from '../../../packages/storage/test/small-volume.ts'
import { entryModule } from '../entry-module.ts'
import { copiesOf, runApp } from '../run-app.ts'
import { runningHost } from '../running-host.ts'

const withEntries = copiesOf(async ({ root, run }) => {
  const source = await sampleTarball(join(root, 'entry.tgz'), entryModule())
  const { exitCode, stdout } = await run('module-install', '--yes', source)
  if (exitCode !== 0) throw new Error(stdout)
})

for (const isServed of [true, false]) {
  t.test(
    `on a full disk ${isServed ? 'of a running host' : 'without a host'} an operator can act, again and again`,
    { skip },
    async (t) => {
      const volume = smallVolume(t, 24)
      const directory = join(volume.folder, 'shop')
      const { directory: prepared } = await withEntries(t)
      await cp(prepared, directory, { recursive: true, verbatimSymlinks: true })
      const run = (...argv: string[]) => runApp(...argv, '--dir', directory, '--json')
      const reserve = async () => (await stat(join(directory, '.app', 'reserve'))).size
      const host = isServed ? await runningHost(t, directory) : undefined
      t.equal(await reserve(), 1024 * 1024)
      volume.fill()
      for (const time of [1, 2, 3]) {
        t.match(
          await run('module-disable', 'entry'),
          { exitCode: 0, json: { changed: ['entry'] } },
          `${time}`,
        )
        t.equal((await readLockFile(directory)).modules.entry?.enabled, false)
        if (host) t.equal((await fetch(`${host.url}/entry`)).status, 404)
        t.match(await run('config', 'set', 'server.port', `400${time}`), { exitCode: 0 })
        t.match(JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8')), {
          server: { port: 4000 + time },
        })
        t.match(await run('token', 'alice'), { exitCode: 0, json: { token: String } })
        t.match(await run('secret', 'rotate'), { exitCode: 0 })
        t.match(await run('module-enable', 'entry'), { exitCode: 0, json: { changed: ['entry'] } })
      }
      t.ok((await reserve()) > 512 * 1024, 'what is left is reserved again')
      volume.empty()
      t.match(await run('token', 'alice'), { exitCode: 0 })
      t.equal(await reserve(), 1024 * 1024)
      const { json } = await run('audit', '--limit', '100')
      const actions = json.records.map((record: { action: string }) => record.action)
      t.equal(actions.filter((action: string) => action === 'token').length, 4)
    },
  )
}

t.test('with neither room nor reserve a command says so, and changes nothing', { skip }, async (t) => {
  const volume = smallVolume(t, 24)
  const directory = join(volume.folder, 'shop')
  const { directory: prepared } = await withEntries(t)
  await cp(prepared, directory, { recursive: true, verbatimSymlinks: true })
  const run = (...argv: string[]) => runApp(...argv, '--dir', directory, '--json')
  await rm(join(directory, '.app', 'reserve'))
  volume.fill()
  const files = () =>
    Promise.all(
      ['app.config.json', 'modules.lock.json', '.app/secret'].map((name) =>
        readFile(join(directory, name), 'utf8'),
      ),
    )
  const before = await files()
  for (const argv of [
    ['module-disable', 'entry'],
    ['config', 'set', 'server.port', '4000'],
    ['token', 'alice'],
    ['secret', 'rotate', '--now'],
  ])
    t.match(await run(...argv), { exitCode: 1, json: { error: { code: 'disk-full' } } }, argv.join(' '))
  t.strictSame(await files(), before)
})
