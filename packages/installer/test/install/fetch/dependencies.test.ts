import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { installDependencies } from '../../../src/install/fetch/dependencies.ts'
import { npmOptions } from '../../../src/install/fetch/npm-options.ts'
import { limits } from '../../../src/install/fetch/unpack.ts'
import type { LockedDependencies } from '../../../src/store/package-json.ts'
import { measure } from '../../../src/store/staging.ts'
import { fakeRegistry, type Published, published } from '../../fake-registry.ts'
import { tarball } from '../../tarball.ts'

async function installIn(
  t: Test,
  packages: readonly Published[],
  files: Record<string, unknown>,
  locked?: LockedDependencies,
) {
  const root = t.testdir({ module: files as never, scratch: {} })
  const { registry, requests } = await fakeRegistry(t, packages)
  const environment = { npm_config_userconfig: '/nowhere', npm_config_cache: join(root, 'cache') }
  const options = { ...(await npmOptions(root, environment)), registry, fetchRetries: 0 }
  const directory = join(root, 'module')
  const done = await installDependencies(directory, join(root, 'scratch'), options, { locked })
  return { directory, requests, chosen: done?.packages }
}
const json = (more: object) => JSON.stringify({ name: 'module', version: '1.0.0', ...more })
const one = published({ name: 'one', version: '1.0.0' }, { 'index.js': 'registry' })

t.test('without dependencies nothing is downloaded or created', async (t) => {
  const { directory, requests } = await installIn(t, [], {
    'package.json': json({ devDependencies: { x: '1' }, peerDependencies: { fastify: '5' } }),
  })
  t.strictSame(requests, [])
  t.strictSame(await readdir(directory), ['package.json'])
})

t.test('bundled dependencies stay, and others are added', async (t) => {
  const bundled = { 'package.json': '{"name":"kept","version":"9.0.0"}', 'index.js': 'bundled' }
  const { directory, requests } = await installIn(t, [one], {
    'package.json': json({ dependencies: { one: '^1.0.0', kept: '^1.0.0' }, bundleDependencies: ['kept'] }),
    node_modules: { kept: bundled },
  })
  t.equal(await readFile(join(directory, 'node_modules/kept/index.js'), 'utf8'), 'bundled')
  t.equal(await readFile(join(directory, 'node_modules/one/index.js'), 'utf8'), 'registry')
  t.notOk(requests.includes('/kept'))
})

t.test('lock files and extension scripts of the package are ignored', async (t) => {
  const elsewhere = { version: '6.6.6', resolved: 'http://127.0.0.1:1/evil.tgz' }
  const lock = JSON.stringify({ lockfileVersion: 3, packages: { '': {}, 'node_modules/one': elsewhere } })
  const { directory } = await installIn(t, [one], {
    'package.json': json({ dependencies: { one: '^1.0.0' } }),
    'npm-shrinkwrap.json': lock,
    'package-lock.json': lock,
    '.npm-extension.mjs': 'process.exit(1)',
  })
  t.equal(await readFile(join(directory, 'node_modules/one/index.js'), 'utf8'), 'registry')
  t.strictSame(await readdir(join(directory, 'node_modules')), ['one'])
})

t.test('the chosen versions stay, whatever is published later', async (t) => {
  const two = published(
    { name: 'two', version: '1.0.0', dependencies: { one: '^1.0.0' } },
    { 'index.js': '' },
  )
  const newer = published({ name: 'one', version: '1.1.0' }, { 'index.js': 'newer' })
  const files = { 'package.json': json({ dependencies: { two: '^1.0.0' } }) }
  const versionIn = async (directory: string) =>
    JSON.parse(await readFile(join(directory, 'node_modules/one/package.json'), 'utf8')).version

  const { chosen } = await installIn(t, [one, two], files)
  t.match(chosen, { 'node_modules/one': { version: '1.0.0', integrity: /^sha512-/ } })
  t.notMatch(JSON.stringify(chosen), /http|resolved/)
  await t.test('later', async (t) => {
    const later = await installIn(t, [one, newer, two], files, chosen)
    t.equal(await versionIn(later.directory), '1.0.0')
    t.strictSame(later.chosen, chosen)
  })
  await t.test('without it', async (t) => {
    t.equal(await versionIn((await installIn(t, [one, newer, two], files)).directory), '1.1.0')
  })
  await t.test('altered since', async (t) => {
    const altered = { ...one, integrity: `sha512-${'A'.repeat(86)}==` }
    await t.rejects(installIn(t, [altered, two], files, chosen), { exitCode: 4, code: 'integrity' })
  })
})

t.test('a missing dependency and an altered one are different failures', async (t) => {
  await t.rejects(installIn(t, [], { 'package.json': json({ dependencies: { one: '1' } }) }), {
    exitCode: 3,
    code: 'unreachable',
  })
  const altered = { ...one, integrity: `sha512-${'A'.repeat(86)}==` }
  await t.rejects(installIn(t, [altered], { 'package.json': json({ dependencies: { one: '1' } }) }), {
    exitCode: 4,
    code: 'integrity',
  })
})

t.test('a git dependency of a dependency is refused', async (t) => {
  const dependencies = { evil: 'git+https://127.0.0.1:1/evil.git' }
  const two = published({ name: 'two', version: '1.0.0' })
  const packages = [{ ...two, json: { ...two.json, dependencies } }]
  await t.rejects(installIn(t, packages, { 'package.json': json({ dependencies: { two: '1' } }) }), {
    exitCode: 4,
    code: 'refused-dependency',
  })
})

t.test('a dependency has the limits of a module, checked before it is on the disk', async (t) => {
  const files = { 'package.json': json({ dependencies: { evil: '1' } }) }
  const json1 = { name: 'evil', version: '1.0.0' }
  const bomb = tarball([{ path: 'package/zeros', body: Buffer.alloc(limits.unpackedBytes + 1) }])
  const many = Array.from({ length: limits.entries + 1 }, (_, at) => ({ path: `package/${at}` }))
  const bad: [string, Buffer, RegExp][] = [
    ['a bomb', bomb, /evil@1\.0\.0 \(a dependency of module@1\.0\.0\).* larger than 256 MiB/],
    ['entries without end', tarball(many), /more than 20000 entries/],
    [
      'a link out',
      tarball([{ path: 'package/link', type: '2', link: '/etc' }]),
      /neither a file nor a folder/,
    ],
    ['a path upwards', tarball([{ path: 'package/../../../escape' }]), /leads out of the package/],
  ]
  for (const [what, data, message] of bad) {
    await t.test(what, async (t) => {
      const installing = installIn(t, [{ json: json1, tarball: data }], files)
      await t.rejects(installing, { exitCode: 4, code: 'unsafe-package', message })
      t.ok((await measure(t.testdirName)).bytes < limits.unpackedBytes)
    })
  }
})

t.test('a dependency without a SHA-512 cannot be verified, and is refused', async (t) => {
  const weak = [{ ...one, integrity: null }]
  await t.rejects(installIn(t, weak, { 'package.json': json({ dependencies: { one: '1' } }) }), {
    exitCode: 4,
    code: 'integrity',
    message: /no SHA-512/,
  })
})

t.test('a dependency is placed under its name or alias, with its bundled packages', async (t) => {
  const bundling = published(
    { name: 'bundling', version: '1.0.0', bundleDependencies: ['one'], dependencies: { one: '9' } },
    { 'node_modules/one/index.js': 'bundled' },
  )
  const { directory } = await installIn(t, [one, bundling], {
    'package.json': json({ dependencies: { bundling: '1', other: 'npm:one@1' } }),
  })
  const read = (path: string) => readFile(join(directory, 'node_modules', path), 'utf8')
  t.equal(await read('other/index.js'), 'registry')
  t.equal(await read('bundling/node_modules/one/index.js'), 'bundled')
})

t.test('no script of a dependency runs', async (t) => {
  const touch = `node -e "require('fs').writeFileSync(${JSON.stringify(join(t.testdir({}), 'ran')).replaceAll('"', "'")}, '')"`
  const names = ['preinstall', 'install', 'postinstall', 'prepare', 'dependencies']
  const scripts = Object.fromEntries(names.map((name) => [name, touch]))
  const scripted = published({ name: 'scripted', version: '1.0.0', scripts }, { 'binding.gyp': '{}' })
  const ran = join(t.testdirName, 'ran')
  await t.test('installed', async (t) => {
    await installIn(t, [scripted], { 'package.json': json({ dependencies: { scripted: '1' }, scripts }) })
  })
  t.notOk(existsSync(ran))
})
