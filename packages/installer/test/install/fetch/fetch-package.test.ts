import { createHash } from 'node:crypto'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fetchPackage } from '../../../src/install/fetch/fetch-package.ts'
import { npmOptions } from '../../../src/install/fetch/npm-options.ts'
import { largestTarball } from '../../../src/install/fetch/unpack.ts'
import type { Source } from '../../../src/install/resolve/source.ts'
import { fakeRegistry, type Published, published } from '../../fake-registry.ts'
import { sampleFolder } from '../../sample-module.ts'

const from = (target: string, kind: Source['kind'] = 'registry'): Source => ({
  kind,
  target,
  package: undefined,
  range: undefined,
  indexed: false,
  isOwn: kind === 'folder',
  record: () => target,
})

async function options(t: Test, packages: readonly Published[] = [], directory = t.testdir({})) {
  const { registry } = await fakeRegistry(t, packages)
  const environment = { npm_config_userconfig: '/nowhere', npm_config_cache: join(directory, 'cache') }
  return { ...(await npmOptions(directory, environment)), registry, fetchRetries: 0 }
}

const x = published({ name: '@acme/x', version: '1.0.0' })
const sha512 = (data: Buffer) => `sha512-${createHash('sha512').update(data).digest('base64')}`

t.test('a tarball from a registry has its published integrity', async (t) => {
  const fetched = await fetchPackage(from('@acme/x@^1'), await options(t, [x]))
  t.ok(fetched.data.equals(x.tarball))
  t.equal(fetched.integrity, sha512(x.tarball))
})

t.test('the newest version in the range is chosen', async (t) => {
  const npm = await options(t, [
    x,
    published({ name: '@acme/x', version: '1.5.0' }),
    published({ name: '@acme/x', version: '2.0.0' }),
  ])
  t.match((await fetchPackage(from('@acme/x@^1'), npm)).from, '1.5.0')
  t.match((await fetchPackage(from('@acme/x'), npm)).from, '2.0.0')
})

t.test('a tarball that differs from the published one is refused', async (t) => {
  const npm = await options(t, [{ ...x, integrity: sha512(Buffer.from('other')) }])
  await t.rejects(fetchPackage(from('@acme/x'), npm), { exitCode: 4, code: 'integrity' })
})

t.test('a registry without SHA-512 is refused', async (t) => {
  const npm = await options(t, [{ ...x, integrity: null }])
  await t.rejects(fetchPackage(from('@acme/x'), npm), {
    exitCode: 4,
    code: 'integrity',
    message: /no SHA-512/,
  })
})

t.test('a package whose published integrity differs from the lock file is refused', async (t) => {
  const npm = await options(t, [x])
  const expected = sha512(Buffer.from('as installed'))
  await t.rejects(fetchPackage(from('@acme/x@1.0.0'), npm, expected), { exitCode: 4, code: 'integrity' })
})

t.test('a missing package or version is not found', async (t) => {
  const npm = await options(t, [x])
  const notFound = { exitCode: 3, code: 'no-such-version' }
  await t.rejects(fetchPackage(from('@acme/none'), npm), notFound)
  await t.rejects(fetchPackage(from('@acme/x@^9'), npm), notFound)
})

t.test('an unreachable registry is reported', async (t) => {
  const npm = { ...(await options(t)), registry: 'http://127.0.0.1:1/' }
  await t.rejects(fetchPackage(from('@acme/x'), npm), { exitCode: 3, code: 'unreachable' })
})

t.test('a folder is packed like npm publishes it, with the same bytes each time', async (t) => {
  const root = t.testdir({})
  const folder = await sampleFolder(join(root, 'module'), {
    json: { scripts: { prepare: 'touch ran', prepack: 'touch ran' } },
  })
  const npm = await options(t, [], root)
  const [one, two] = [
    await fetchPackage(from(folder, 'folder'), npm),
    await fetchPackage(from(folder, 'folder'), npm),
  ]
  t.equal(one.integrity, two.integrity)
  t.equal(one.integrity, sha512(one.data))
})

t.test('scripts do not run while a folder is packed', async (t) => {
  const root = t.testdir({})
  const folder = await sampleFolder(join(root, 'module'), {
    json: { scripts: { prepare: 'node -e "process.exit(1)"', prepack: 'node -e "process.exit(1)"' } },
    files: { '.npm-extension.mjs': 'process.exit(1)' },
  })
  await t.resolves(fetchPackage(from(folder, 'folder'), await options(t, [], root)))
})

t.test('a too large tarball is refused without reading it', async (t) => {
  const root = t.testdir({})
  const file = join(root, 'large.tgz')
  await writeFile(file, '')
  await truncate(file, largestTarball + 1)
  await t.rejects(fetchPackage(from(file, 'tarball'), await options(t, [], root)), {
    exitCode: 4,
    code: 'unsafe-package',
  })
})
