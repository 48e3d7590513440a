import { watch } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'

const { 'package.json': json, ...files } = sampleFiles() as { 'package.json': string }
const storeOf = (directory: string) => readdir(join(directory, '.app', 'store'))

/** An installation that waits for its registry in the middle. */
async function waiting(t: Parameters<typeof testApplication>[0]) {
  const application = await testApplication(t)
  const dependency = published({ name: 'slow', version: '1.0.0' })
  const mine = { ...JSON.parse(json), dependencies: { slow: '1.0.0' } }
  const server = await fakeRegistry(t, [published(mine, files), dependency])
  process.env.npm_config_registry = server.registry
  return { ...application, ...server }
}

t.test('a second command is busy, and the message names the first one', async (t) => {
  const { directory, run, hold, asked } = await waiting(t)
  const release = hold()
  const first = startApp(t, ['module-install', '--yes', '@acme/hello', '--json', '--dir', directory])
  await asked(/\.tgz$/)
  for (const command of [
    ['module-install', 'api-cart'],
    ['module-remove', 'x'],
  ]) {
    const outcome = await run(...command)
    t.match(outcome, {
      exitCode: 6,
      json: { error: { code: 'busy', message: /module-install @acme\/hello.*process \d+/ } },
    })
  }
  t.match(await run('module-list'), { exitCode: 0 }, 'looking is always possible')
  release()
  t.equal(await first.ended, 0, first.stderr)
  t.match(await run('module-install', 'hello'), { exitCode: 0 })
})

t.test(
  'after kill -9 the application is as before, and the next command cleans up and says so',
  async (t) => {
    const { root, directory, run, hold, asked } = await waiting(t)
    t.equal(
      (await run('module-install', '--yes', await sampleTarball(join(root, 'a.tgz'), { id: 'a' }))).exitCode,
      0,
    )
    const previous = await readFile(join(directory, 'modules.lock.json'), 'utf8')
    const release = hold()
    const killed = startApp(t, ['module-install', '--yes', '@acme/hello', '--dir', directory])
    // The package itself is let through, its dependency is not: it lies in staging then.
    await asked(/\.tgz$/)
    release()
    hold()
    await asked(/^\/slow/)
    killed.child.kill('SIGKILL')
    t.equal(await killed.ended, 'SIGKILL')

    t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), previous)
    t.ok((await storeOf(directory)).some((name) => name.startsWith('.staging-')))
    await writeFile(join(directory, 'modules.lock.json.1.tmp'), 'half a lo')
    await mkdir(join(directory, '.app', '.temporary-0123456789abcdef', 'empty'), { recursive: true })
    const next = await run('module-install', '--yes', 'a')
    t.equal(next.exitCode, 0)
    t.match(next.stderr, /interrupted/)
    t.notOk((await storeOf(directory)).some((name) => name.startsWith('.staging-')))
    t.notOk((await readdir(directory)).some((name) => name.endsWith('.tmp')))
    t.notOk((await readdir(join(directory, '.app'))).some((name) => /^lock\.owner|^\.temporary-/.test(name)))
    t.equal((await readLockFile(directory)).generation, 1)
  },
)

t.test(
  'if a command is killed before it writes its journal, the next command removes its packages again',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    await run('module-install', '--yes', await sampleTarball(join(root, 'a.tgz'), { id: 'a' }))
    const stored = await storeOf(directory)
    await mkdir(join(directory, '.app', 'store', '@acme+b@1.0.0-0123456789abcdef'))
    t.equal((await run('module-install')).exitCode, 0)
    t.strictSame(await storeOf(directory), stored)
  },
)

t.test('after kill -9 at any moment, lock file and store match', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const files = [
    await sampleTarball(join(root, '1.tgz')),
    await sampleTarball(join(root, '2.tgz'), { version: '2.0.0' }),
  ]
  await run('module-install', '--yes', files[0] as string)
  let ended: unknown = 'SIGKILL'
  // A moment is a count of changes in the application's folder; the last one is never reached. A few are enough
  // here: `npm run verify -- kill` tries system calls.
  for (let moment = 1; ended === 'SIGKILL'; moment = Math.ceil(moment * 1.8)) {
    const { version } = (await run('module-list')).json.modules[0]
    const installing = startApp(t, [
      'module-install',
      '--yes',
      files[version === '1.0.0' ? 1 : 0] as string,
      '--dir',
      directory,
    ])
    let changes = 0
    const watcher = watch(directory, { recursive: true }, () => {
      if (++changes >= moment) installing.child.kill('SIGKILL')
    })
    ended = await installing.ended
    watcher.close()
    t.match(
      (await run('module-list')).json.modules,
      [{ id: 'hello', state: 'active' }],
      `after ${moment} changes`,
    )
    t.match(await run('module-install'), { exitCode: 0, json: { restored: [] } })
  }
  t.equal(ended, 0)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  t.test(`${signal} ends the command at once and releases the lock`, async (t) => {
    const { directory, run, hold, asked } = await waiting(t)
    hold()
    const interrupted = startApp(t, ['module-install', '--yes', '@acme/hello', '--dir', directory])
    await asked(/^\/@acme/)
    t.ok((await readdir(join(directory, '.app'))).includes('lock.owner'))
    interrupted.child.kill(signal)
    t.equal(await interrupted.ended, signal)
    t.notOk((await readdir(join(directory, '.app'))).includes('lock.owner'))
    t.match(await run('module-install'), { exitCode: 0 })
  })
}
