import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { type Entry, tarball } from '../../../packages/installer/test/tarball.ts'
import { runApp, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

/** Staging with two modules, one with a dependency and one switched off; and a production that has nothing. */
async function stagingAndProduction(t: Parameters<typeof testApplication>[0]) {
  const staging = await testApplication(t)
  const { registry } = await fakeRegistry(t, [
    published({ name: 'greeting', version: '1.2.0' }, { 'index.js': 'module.exports = "hi"' }),
  ])
  process.env.npm_config_registry = registry
  const hello = await sampleTarball(join(staging.root, 'hello.tgz'), {
    json: { dependencies: { greeting: '^1.0.0' } },
    main: `import { defineModule } from '@mortise/module-sdk'
      import greeting from 'greeting'
      export default defineModule('hello').plugin(async (app) => {
        app.get('/hello', { config: { access: 'public' } }, async () => ({ greeting }))
      })`,
  })
  const other = await sampleTarball(join(staging.root, 'other.tgz'), { id: 'other' })
  t.equal((await staging.run('module-install', '--yes', hello, other)).exitCode, 0)
  process.env.npm_config_registry = 'http://127.0.0.1:1/'
  process.env.npm_config_cache = join(staging.root, 'no-cache')
  const directory = join(staging.root, 'production')
  await runApp('init', directory)
  const file = join(staging.root, 'shop.tgz')
  const run = (...argv: string[]) => runApp(...argv, '--dir', directory, '--json')
  return { staging, file, production: { directory, run } }
}

t.test('a bundle installs the same bytes elsewhere without a network', async (t) => {
  const { staging, file, production } = await stagingAndProduction(t)
  const bundled = await staging.run('bundle', file)
  t.match(bundled.json, {
    file,
    generation: 1,
    modules: [{ id: 'hello' }, { id: 'other' }],
    unchanged: false,
  })
  for (const name of ['hello.tgz', 'other.tgz']) await rm(join(staging.root, name))

  t.match(await production.run('module-install', '--yes', file, '--offline', '--dry-run'), { exitCode: 0 })
  t.strictSame((await readLockFile(production.directory)).modules, {})
  const installed = await production.run('module-install', '--yes', file, '--offline')
  t.match(installed, { exitCode: 0, json: { installed: [{ id: 'hello' }, { id: 'other' }] } })
  t.strictSame(
    (await readLockFile(production.directory)).modules,
    (await readLockFile(staging.directory)).modules,
  )
  t.match(await get(await runningHost(t, production.directory), '/hello'), { body: { greeting: 'hi' } })
  t.match(await production.run('module-install', '--yes', file), {
    exitCode: 0,
    json: { installed: [], generation: 1 },
  })
})

t.test('a bundle restores packages that the store lost', async (t) => {
  const { staging, file, production } = await stagingAndProduction(t)
  await staging.run('bundle', file)
  await production.run('module-install', '--yes', file, '--offline')
  await rm(join(production.directory, '.app', 'store'), { recursive: true })
  t.equal((await production.run('module-install', '--yes', file, '--offline')).exitCode, 0)
  t.strictSame((await readdir(join(production.directory, '.app', 'store'))).length, 2)
})

t.test(
  'a bundle of the same generation has nothing to do, and a bundle never overwrites another file',
  async (t) => {
    const { staging, file } = await stagingAndProduction(t)
    await staging.run('bundle', file)
    const bytes = await readFile(file)
    t.match((await staging.run('bundle', file)).json, { unchanged: true })
    t.ok((await readFile(file)).equals(bytes))
    await writeFile(file, 'mine')
    t.match(await staging.run('bundle', file), { exitCode: 4, json: { error: { code: 'file-exists' } } })
    t.equal(await readFile(file, 'utf8'), 'mine')
    t.match(await staging.run('bundle', staging.root), { json: { error: { code: 'file-exists' } } })
    for (const command of ['bundle', 'backup'])
      t.match(
        await staging.run(command, join(staging.root, 'none', 'shop.tgz')),
        { exitCode: 3, json: { error: { code: 'no-folder', hint: /Create the folder first/ } } },
        `${command} into a folder that is not there`,
      )
    t.notOk((await readdir(staging.root)).some((name) => name.endsWith('.tmp')))
  },
)

t.test('bundle refuses an empty application and an altered store', async (t) => {
  const { staging, file, production } = await stagingAndProduction(t)
  t.match(await production.run('bundle', file), {
    exitCode: 3,
    json: { error: { code: 'nothing-installed' } },
  })
  const store = join(staging.directory, '.app', 'store')
  const [name] = (await readdir(store)) as [string]
  await writeFile(join(store, name, 'index.js'), 'altered')
  t.match(await staging.run('bundle', file), { exitCode: 4, json: { error: { code: 'store-incomplete' } } })
})

t.test('a bundle that differs from its lock file is refused', async (t) => {
  const { staging, production } = await stagingAndProduction(t)
  const lock = await readLockFile(staging.directory)
  const { other } = lock.modules
  const store = join(staging.directory, '.app', 'store')
  const place = (await readdir(store)).find((name) => name.includes('other')) as string
  const files = await Promise.all(
    ['index.js', 'package.json'].map(async (path): Promise<Entry> => {
      return { path: `bundle/modules/other/${path}`, body: await readFile(join(store, place, path)) }
    }),
  )
  const bundleOf = (modules: object, more: readonly Entry[]) =>
    tarball([
      { path: 'bundle/modules.lock.json', body: JSON.stringify({ ...lock, modules }) },
      ...files,
      ...more,
    ])
  const file = join(staging.root, 'hostile.tgz')
  const refused: Record<string, [Buffer, code: string, message: RegExp]> = {
    'a file more': [
      bundleOf({ other }, [{ path: 'bundle/modules/other/more.js', body: 'x' }]),
      'integrity',
      /differ from its lock file/,
    ],
    'a module more': [
      bundleOf({ other }, [{ path: 'bundle/modules/more/index.js', body: 'x' }]),
      'unsafe-package',
      /packages differ from its lock file/,
    ],
    'a module less': [
      bundleOf({ other, hello: lock.modules.hello }, []),
      'unsafe-package',
      /packages differ/,
    ],
    'an id that is a path': [bundleOf({ '../other': other }, []), 'unsafe-package', /not a known field/],
    'another id': [bundleOf({ another: other }, []).subarray(), 'unsafe-package', /packages differ/],
    'a lock that is none': [
      bundleOf({ other: {} }, []),
      'unsafe-package',
      /modules.lock.json is not a lock file/,
    ],
    'a path upwards': [
      bundleOf({ other }, [{ path: 'bundle/../../escape', body: 'x' }]),
      'unsafe-package',
      /leads out/,
    ],
    'a link': [
      bundleOf({ other }, [{ path: 'bundle/modules/other/link', type: '2', link: '/etc/passwd' }]),
      'unsafe-package',
      /neither a file nor a folder/,
    ],
    'half of it': [bundleOf({ other }, []).subarray(0, 400), 'unsafe-package', /refused/],
  }
  for (const [name, [data, code, message]] of Object.entries(refused)) {
    await writeFile(file, data)
    const outcome = await production.run('module-install', '--yes', file, '--offline')
    t.match(outcome, { exitCode: 4, json: { error: { code, message } } }, name)
    t.strictSame((await readLockFile(production.directory)).modules, {}, name)
    t.strictSame(await readdir(join(production.directory, '.app', 'store')).catch(() => []), [], name)
  }
  await writeFile(file, bundleOf({ other }, []))
  t.equal((await production.run('module-install', '--yes', file, '--offline')).exitCode, 0)
})

t.test('restore refuses a bundle, and module-install refuses a backup', async (t) => {
  const { root, run } = await testApplication(t)
  const [bundle, backup] = [join(root, 'shop.tgz'), join(root, 'backup.tgz')]
  t.equal((await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))).exitCode, 0)
  t.equal((await run('bundle', bundle)).exitCode, 0)
  t.equal((await run('backup', backup)).exitCode, 0)
  t.match(await run('restore', bundle), {
    exitCode: 4,
    json: { error: { hint: /app module-install .*shop\.tgz/ } },
  })
  t.match(await run('module-install', '--yes', backup), {
    exitCode: 4,
    json: { error: { hint: /app restore .*backup\.tgz/ } },
  })
})
