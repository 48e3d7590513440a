import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleFolder, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const storeOf = (directory: string) => readdir(join(directory, '.app', 'store'))

t.test('a folder is packed, installed, and served at the next start', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await sampleFolder(join(root, 'hello'))
  const { exitCode, json } = await run('module-install', '--yes', join(root, 'hello'))
  t.equal(exitCode, 0)
  t.match(json, {
    generation: 1,
    live: false,
    installed: [{ id: 'hello', version: '1.0.0', replaces: null }],
  })
  const lock = await readLockFile(directory)
  t.match(lock, {
    generation: 1,
    modules: { hello: { package: '@acme/hello', spec: 'file:../hello', enabled: true } },
  })
  t.match(lock.modules.hello, { integrity: /^sha512-/, tree: /^sha512-/ })
  t.strictSame((await storeOf(directory)).length, 1)
  t.match(await get(await runningHost(t, directory), '/hello'), { status: 200, body: { version: '1.0.0' } })
})

t.test('a repeated installation has nothing to do', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'hello'))
  await run('module-install', '--yes', folder)
  const lock = await readLockFile(directory)
  for (const name of [folder, 'hello', 'hello@^1']) {
    const { exitCode, json } = await run('module-install', '--yes', name)
    t.equal(exitCode, 0, name)
    t.match(json, { installed: [], unchanged: ['hello'], generation: 1 }, name)
  }
  t.strictSame(await readLockFile(directory), lock)
})

t.test('several modules are one change: all or none', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const a = await sampleTarball(join(root, 'a.tgz'), { id: 'a' })
  const b = await sampleTarball(join(root, 'b.tgz'), { id: 'b' })
  const bad = await sampleTarball(join(root, 'bad.tgz'), { id: 'bad', plugin: 'throw new Error("no")' })
  t.equal((await run('module-install', '--yes', a, bad)).exitCode, 4)
  t.strictSame((await readLockFile(directory)).modules, {})
  t.match((await run('module-install', '--yes', a, b)).json, {
    generation: 1,
    installed: [{ id: 'a' }, { id: 'b' }],
  })
})

t.test(
  'a package from a registry is verified, installed, and downloaded again if the store lost it',
  async (t) => {
    const { directory, run } = await testApplication(t)
    const { 'package.json': json, ...files } = sampleFiles() as { 'package.json': string }
    const { registry } = await fakeRegistry(t, [published(JSON.parse(json), files)])
    process.env.npm_config_registry = registry
    t.equal((await run('module-install', '--yes', '@acme/hello@^1')).exitCode, 0)
    t.equal((await readLockFile(directory)).modules.hello?.spec, '@acme/hello@^1')

    await rm(join(directory, '.app', 'store'), { recursive: true })
    t.match((await run('module-list')).json.modules, [{ state: 'failed', reason: /module-install/ }])
    t.match((await run('module-install')).json, { restored: ['hello'], generation: 1 })
    t.match((await run('module-list')).json.modules, [{ state: 'active', routes: ['GET /hello'] }])
    t.match((await run('module-install')).json, { restored: [], unchanged: ['hello'] })
  },
)

t.test('an altered file in the store is noticed and restored', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const [name] = (await storeOf(directory)) as [string]
  await writeFile(join(directory, '.app', 'store', name, 'index.js'), 'altered')
  t.match((await run('module-install', 'hello')).json, { restored: ['hello'] })
  t.match(await readFile(join(directory, '.app', 'store', name, 'index.js'), 'utf8'), /defineModule/)
})

t.test('a source that differs from the lock file is refused', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  await run('module-install', '--yes', file)
  await rm(join(directory, '.app', 'store'), { recursive: true })
  await sampleTarball(file, { plugin: 'throw 1' })
  t.match(await run('module-install'), { exitCode: 4, json: { error: { code: 'integrity' } } })
  await rm(file)
  t.match(await run('module-install'), { exitCode: 3, json: { error: { code: 'no-such-file' } } })
})

t.test('dependencies are installed without their scripts; peers come from the host', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const scripts = { install: 'touch ran', postinstall: 'touch ran' }
  const { registry, requests } = await fakeRegistry(
    t,
    [
      published(
        { name: 'greeting', version: '1.2.0', main: 'index.cjs', scripts },
        { 'index.cjs': 'module.exports = () => require("word")' },
      ),
      published({ name: 'word', version: '1.0.0' }, { 'index.js': 'module.exports = "hi"' }),
    ].map((one, index) =>
      index === 0 ? { ...one, json: { ...one.json, dependencies: { word: '^1.0.0' } } } : one,
    ),
  )
  process.env.npm_config_registry = registry
  const file = await sampleTarball(join(root, 'hello.tgz'), {
    json: { dependencies: { greeting: '^1.0.0' }, devDependencies: { nowhere: '1.0.0' }, scripts },
    main: `import { defineModule } from '@mortise/module-sdk'
      import greeting from 'greeting'
      export default defineModule('hello').plugin(async (app) => {
        app.get('/hello', { config: { access: 'public' } }, async () => ({ greeting: greeting() }))
      })`,
  })
  t.match(await run('module-install', '--yes', file), { exitCode: 0 })
  const [name] = (await storeOf(directory)) as [string]
  t.strictSame((await readdir(join(directory, '.app', 'store', name, 'node_modules'))).sort(), [
    'greeting',
    'word',
  ])
  t.notOk(
    (await readdir(join(directory, '.app', 'store', name), { recursive: true })).some((path) =>
      path.endsWith('ran'),
    ),
  )
  t.notOk(requests.some((path) => /nowhere|module-sdk/.test(path)))
  t.match(await get(await runningHost(t, directory), '/hello'), { body: { greeting: 'hi' } })
})

t.test('an alias in the config names its target', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await sampleFolder(join(root, 'mine'), { id: 'review' })
  const config = JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8'))
  const aliases = { review: '../mine', circle: 'review' }
  await writeFile(join(directory, 'app.config.json'), JSON.stringify({ ...config, aliases }))
  t.match(await run('module-install', '--yes', 'circle'), {
    exitCode: 4,
    json: { error: { code: 'refused-source' } },
  })
  t.match(await run('module-install', '--yes', 'review@^2'), {
    exitCode: 3,
    json: { error: { code: 'no-such-version' } },
  })
  t.match(await run('module-install', '--yes', 'review'), { exitCode: 0 })
})

t.test('a name in the index resolves to the workspace folder of this checkout', async (t) => {
  const { directory, run } = await testApplication(t)
  t.match(await run('module-install', 'api-cart'), { exitCode: 0 })
  t.match((await readLockFile(directory)).modules['api-cart'], {
    package: '@mortise/api-cart',
    spec: /^@mortise\/api-cart@\^/,
  })
  const [name] = (await storeOf(directory)) as [string]
  t.notOk(
    (await readdir(join(directory, '.app', 'store', name))).includes('test'),
    'packed as it would be published',
  )
})

t.test('an unknown bare name causes no request', async (t) => {
  const { run } = await testApplication(t)
  const { registry, requests } = await fakeRegistry(t, [])
  process.env.npm_config_registry = registry
  const outcome = await run('module-install', 'api-crat')
  t.match(outcome, { exitCode: 3, json: { error: { code: 'unknown-module', hint: /api-cart/ } } })
  t.strictSame(requests, [])
})

t.test(
  'a module may be named twice in a command if both are the same, otherwise it is wrong usage',
  async (t) => {
    const { root, run } = await testApplication(t)
    const one = await sampleTarball(join(root, 'one.tgz'))
    await cp(one, join(root, 'copy.tgz'))
    const two = await sampleTarball(join(root, 'two.tgz'), { version: '2.0.0' })
    t.match(await run('module-install', '--yes', one, two), { exitCode: 2 })
    t.match(await run('module-install', '--yes', one, join(root, 'copy.tgz')), {
      exitCode: 0,
      json: { installed: [{ id: 'hello' }] },
    })
  },
)

t.test('--json prints one document on stdout, and the plan goes to stderr', async (t) => {
  const { root, run } = await testApplication(t)
  const { stdout, stderr } = await run(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'hello.tgz')),
  )
  t.equal(JSON.parse(stdout).installed.length, 1)
  t.match(stderr, /changes +\+ GET \/hello/)
  t.match(stderr, /to go back +app module-remove hello/)
})
