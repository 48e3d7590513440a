import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { packed } from '../../../packages/installer/test/tarball.ts'
import { testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const storeOf = (directory: string) => readdir(join(directory, '.app', 'store'))

const refusals: Readonly<
  Record<string, [options: Parameters<typeof sampleFiles>[0], code: string, message: RegExp]>
> = {
  'no manifest': [{ json: { mortise: undefined } }, 'invalid-manifest', /no "mortise" manifest/],
  'a wrong manifest': [{ manifest: { routes: 'GET /x' } }, 'invalid-manifest', /mortise\.routes/],
  'another host': [{ manifest: { host: '^99.0.0' } }, 'host-range', /99/],
  'a peer in another range': [
    { json: { peerDependencies: { fastify: '^3.0.0' } } },
    'peer-range',
    /fastify \^3/,
  ],
  'a peer that is not provided': [{ json: { peerDependencies: { react: '*' } } }, 'peer-missing', /react/],
  'a contract that nobody provides': [
    { manifest: { requires: { catalog: '^1' } } },
    'contract-missing',
    /catalog/,
  ],
  "a route of the host's": [{ manifest: { routes: ['POST /guest'] } }, 'conflict', /belongs to the host/],
  "tables of the host's": [{ manifest: { tables: 'mortise_x' } }, 'conflict', /mortise/],
  'a git dependency': [
    { json: { dependencies: { x: 'github:a/b' } } },
    'refused-dependency',
    /not come from a registry/,
  ],
  'a dependency from a URL': [
    { json: { dependencies: { x: 'http://127.0.0.1:1/x.tgz' } } },
    'refused-dependency',
    /not come from a registry/,
  ],
  'a dependency from a file': [
    { json: { dependencies: { x: 'file:../x' } } },
    'refused-dependency',
    /not come from a registry/,
  ],
  'code that throws': [{ plugin: 'throw new Error("broken inside")' }, 'probe-failed', /broken inside/],
  'code that throws while it is imported': [
    { main: 'throw new Error("broken outside")' },
    'probe-failed',
    /broken outside/,
  ],
  'code that throws lines that read as ours': [
    { main: "throw new Error('broken\\nInstalled hello 1.0.0' + 'x'.repeat(1e6))" },
    'probe-failed',
    /broken Installed hello 1\.0\.0x{900,1000}…/,
  ],
  'code that ends the process': [{ main: 'process.exit(0)' }, 'probe-failed', /exit code 0/],
  'a route that is not declared': [{ manifest: { routes: [] } }, 'probe-failed', /GET \/hello/],
  'a route that is not registered': [
    { manifest: { routes: ['GET /hello', 'GET /more'] } },
    'probe-failed',
    /GET \/more/,
  ],
  'a route without access': [{ plugin: "app.get('/hello', async () => ({}))" }, 'probe-failed', /access/],
  'a broken migration': [
    {
      manifest: { tables: 'hello', migrations: 'migrations' },
      files: { 'migrations/001-x.sql': 'CREATE TABLE' },
    },
    'migration-failed',
    /: migrations\/001-x/,
  ],
  'settings that are wrong': [{}, 'invalid-settings', /modules\.hello/],
}

for (const [name, [options, code, message]] of Object.entries(refusals)) {
  t.test(`${name}: refused, and neither the application nor a running host changes`, async (t) => {
    const { root, directory, run } = await testApplication(t)
    if (code === 'invalid-settings') {
      const config = JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8'))
      await writeFile(
        join(directory, 'app.config.json'),
        JSON.stringify({ ...config, modules: { hello: { x: 1 } } }),
      )
    }
    const running = await runningHost(t, directory)
    const outcome = await run(
      'module-install',
      '--yes',
      await sampleTarball(join(root, 'hello.tgz'), options),
    )
    t.match(outcome, { exitCode: 4, json: { error: { code, message, exitCode: 4, hint: String } } })
    t.strictSame((await readLockFile(directory)).generation, 0)
    t.strictSame(await storeOf(directory), [])
    t.equal((await get(running, '/health/live')).status, 200)
  })
}

t.test('paths and tables of another module are refused', async (t) => {
  const { root, run } = await testApplication(t)
  const plugin = (path: string) => `app.get('${path}', { config: { access: 'public' } }, async () => ({}))`
  const make = (id: string, path: string, more: object = {}) =>
    sampleTarball(join(root, `${id}.tgz`), {
      id,
      plugin: plugin(path),
      manifest: { routes: [`GET ${path}`], ...more },
    })
  const a = await make('a', '/x/:id', { tables: 'shop' })
  t.equal((await run('module-install', '--yes', a)).exitCode, 0)
  const conflict = { exitCode: 4, json: { error: { code: 'conflict' } } }
  for (const path of ['/x/:other', '/x/total', '/x/:id/more', '/x'])
    t.match(await run('module-install', '--yes', await make('b', path)), conflict)
  t.match(await run('module-install', '--yes', await make('c', '/c', { tables: 'shop_cart' })), conflict)
  t.match(await run('module-install', '--yes', await make('d', '/d', { tables: 'shop' })), conflict)
  t.match(await run('module-install', '--yes', await make('e', '/e', { tables: 'shopping' })), {
    exitCode: 0,
  })
  const other = await sampleTarball(join(root, 'other.tgz'), { id: 'a', name: '@other/a' })
  t.match(await run('module-install', '--yes', other), { exitCode: 4, json: { error: { code: 'id-taken' } } })
})

t.test('a contract can be provided in the same change or earlier', async (t) => {
  const { root, run } = await testApplication(t)
  const user = await sampleTarball(join(root, 'user.tgz'), {
    id: 'user',
    manifest: { requires: { stock: '^1.0.0' } },
  })
  const old = await sampleTarball(join(root, 'old.tgz'), {
    id: 'stock',
    version: '0.9.0',
    manifest: { provides: { stock: '0.9.0' } },
  })
  const provider = await sampleTarball(join(root, 'stock.tgz'), {
    id: 'stock',
    manifest: { provides: { stock: '1.1.0' } },
  })
  t.match(await run('module-install', '--yes', user, old), {
    exitCode: 4,
    json: { error: { code: 'contract-missing', message: /stock \(0\.9\.0\)/ } },
  })
  t.match(await run('module-install', '--yes', user, provider), { exitCode: 0 })
  t.match(await run('module-remove', 'stock'), {
    exitCode: 4,
    json: { error: { code: 'required', message: /user/ } },
  })
  t.match(await run('module-remove', 'stock', 'user'), { exitCode: 0, json: { removed: ['stock', 'user'] } })
})

t.test('an unsafe tarball is refused and leaves nothing behind', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await writeFile(join(root, 'bad.tgz'), packed({ ...sampleFiles(), '../../escape': 'x' }))
  t.match(await run('module-install', '--yes', join(root, 'bad.tgz')), {
    exitCode: 4,
    json: { error: { code: 'unsafe-package' } },
  })
  t.strictSame(await storeOf(directory), [])
})

t.test('a package with another name than in its registry is refused', async (t) => {
  const { run } = await testApplication(t)
  const { 'package.json': json, ...files } = sampleFiles({ name: '@acme/other' }) as {
    'package.json': string
  }
  const honest = published(JSON.parse(json), files)
  const { registry } = await fakeRegistry(t, [{ ...honest, json: { name: '@acme/hello', version: '1.0.0' } }])
  process.env.npm_config_registry = registry
  const outcome = await run('module-install', '--yes', '@acme/hello')
  t.match(outcome, { exitCode: 4, json: { error: { message: /its name is @acme\/other/ } } })
})

t.test('an id that is a word of JavaScript is a name like any other', async (t) => {
  const { root, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'x.tgz'), { id: 'constructor' })
  t.match(await run('module-install', '--yes', file), { exitCode: 0 })
  t.match(await run('module-list'), { json: { modules: [{ id: 'constructor', state: 'active' }] } })
})
