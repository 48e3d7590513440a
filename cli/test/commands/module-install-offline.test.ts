import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashTree, readLockFile, storedModule } from '@mortise/application'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { packed } from '../../../packages/installer/test/tarball.ts'
import { testApplication } from '../run-app.ts'

const sample = (version: string, dependencies?: Record<string, string>) => {
  const { 'package.json': json, ...files } = sampleFiles({
    version,
    ...(dependencies && { json: { dependencies } }),
  })
  return published(JSON.parse(json as string), files)
}
const word = published({ name: 'word', version: '1.0.0' }, { 'index.js': '' })

t.test('--offline installs a folder or a file without a request to a registry', async (t) => {
  const { root, run } = await testApplication(t)
  const { registry, requests } = await fakeRegistry(t, [sample('1.0.0')])
  process.env.npm_config_registry = registry
  const refused = await run('module-install', '--yes', '@acme/hello', '--offline')
  t.match(refused, { exitCode: 3, json: { error: { code: 'offline', hint: /bundle/ } } })
  t.match(await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')), '--offline'), {
    exitCode: 0,
  })
  t.strictSame(requests, [])
})

t.test("--offline restores the store from npm's cache, by integrity", async (t) => {
  const { directory, run } = await testApplication(t)
  const { registry, requests } = await fakeRegistry(t, [sample('1.0.0', { word: '^1.0.0' }), word])
  process.env.npm_config_registry = registry
  t.equal((await run('module-install', '--yes', '@acme/hello')).exitCode, 0)
  await rm(join(directory, '.app', 'store'), { recursive: true })
  requests.length = 0
  t.match(await run('module-install', '--offline', '--frozen'), {
    exitCode: 0,
    json: { restored: ['hello'] },
  })
  t.strictSame(requests, [])
  const { hello } = (await readLockFile(directory)).modules
  t.ok(hello)
  if (hello) t.equal(await hashTree(storedModule(directory, hello)), hello.tree)

  await rm(join(directory, '.app', 'store'), { recursive: true })
  process.env.npm_config_cache = join(directory, 'other-cache')
  t.match(await run('module-install', '--offline'), { exitCode: 3, json: { error: { code: 'offline' } } })
})

t.test('a folder of tarballs works as a registry of modules and dependencies', async (t) => {
  const { directory, run } = await testApplication(t)
  const { registry, requests } = await fakeRegistry(t, [])
  delete process.env.npm_config_registry
  const folder = join(directory, 'packages')
  await mkdir(folder)
  const files = {
    'a.tgz': sample('1.0.0', { word: '^1.0.0' }),
    'b.tgz': sample('1.4.0', { word: '^1.0.0' }),
    'w.tgz': word,
  }
  for (const [name, { tarball }] of Object.entries(files)) await writeFile(join(folder, name), tarball)
  await writeFile(join(folder, 'broken.tgz'), 'no tarball')
  await writeFile(join(folder, 'read.me'), 'no package')
  await writeFile(join(directory, '.npmrc'), `registry=file:./packages\n@other:registry=${registry}\n`)
  const outcome = await run('module-install', '--yes', '@acme/hello@^1', '--offline')
  t.match(outcome, {
    exitCode: 0,
    json: { installed: [{ version: '1.4.0', origin: join(folder, 'b.tgz') }] },
  })
  const { hello } = (await readLockFile(directory)).modules
  t.match(hello, { spec: '@acme/hello@^1', dependencies: { 'node_modules/word': { version: '1.0.0' } } })
  t.match(await run('module-install', '--yes', '@acme/none', '--offline'), { exitCode: 3 })
  t.match(await run('module-install', '--yes', '@other/one', '--offline'), { exitCode: 3 })
  t.strictSame(requests, [], 'offline, other registries are not asked')
  t.match(await run('module-install', '--yes', '@other/one'), { exitCode: 3 })
  t.ok(requests.length > 0)

  await rm(join(directory, '.app', 'store'), { recursive: true })
  t.match(await run('module-install', '--offline', '--frozen'), {
    exitCode: 0,
    json: { restored: ['hello'] },
  })
  await rm(join(directory, '.app', 'store'), { recursive: true })
  await writeFile(join(folder, 'b.tgz'), packed({ ...sampleFiles({ version: '1.4.0' }), 'more.js': '' }))
  process.env.npm_config_cache = join(directory, 'other-cache')
  t.match(await run('module-install', '--offline'), { exitCode: 4, json: { error: { code: 'integrity' } } })
  await rename(folder, `${folder}-gone`)
  t.match(await run('module-install', '--offline'), {
    exitCode: 3,
    json: { error: { code: 'no-such-file' } },
  })
})

t.test('--frozen installs exactly what the lock file names', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const frozen = { exitCode: 4, json: { error: { code: 'frozen' } } }
  t.match(await run('module-install', '--frozen'), { exitCode: 0, json: { installed: [] } }, 'an empty lock')
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.equal((await run('module-install', '--yes', file)).exitCode, 0)
  const lock = await readFile(join(directory, 'modules.lock.json'), 'utf8')
  await rm(join(directory, '.app', 'store'), { recursive: true })
  t.match(await run('module-install', 'hello', '--frozen'), { exitCode: 0, json: { restored: ['hello'] } })
  const other = await sampleTarball(join(root, 'other.tgz'), { id: 'other' })
  t.match(await run('module-install', '--yes', other, '--frozen'), frozen)
  t.match(await run('module-install', '--yes', 'hello@^2', '--frozen'), frozen)
  await rm(join(directory, '.app', 'store'), { recursive: true })
  await sampleTarball(file, { plugin: 'throw 1' })
  t.match(await run('module-install', '--frozen'), { exitCode: 4, json: { error: { code: 'integrity' } } })
  t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), lock)
  t.strictSame(await readdir(join(directory, '.app', 'store')).catch(() => []), [])
})
