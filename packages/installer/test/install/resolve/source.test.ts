import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LockedModule, LockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { useCommand } from '../../../src/application/command-folder.ts'
import { lockedSource, resolveSpec, type Source } from '../../../src/install/resolve/source.ts'
import { installedId } from '../../../src/store/installed-packages.ts'

// It has the index of bare names.
const command = fileURLToPath(new URL('../../../../../cli', import.meta.url))
useCommand({ own: command, called: command })

const locked = (name: string, version: string, spec: string): LockedModule => ({
  package: name,
  version,
  spec,
  integrity: 'sha512-x',
  tree: 'sha512-x',
  enabled: true,
})

async function lookupIn(t: Test, modules: LockFile['modules'] = {}, aliases: Record<string, string> = {}) {
  const root = await realpath(
    t.testdir({
      app: {},
      here: {
        mine: { 'package.json': '{}' },
        'mine.tgz': 'x',
        'api-cart': { 'package.json': '{}' },
        empty: {},
      },
    }),
  )
  const lock: LockFile = { lockVersion: 1, generation: 1, modules }
  return { root, lookup: { directory: join(root, 'app'), cwd: join(root, 'here'), lock, aliases } }
}
/** Why `resolveSpec` throws. */
function failureOf(...call: Parameters<typeof resolveSpec>): unknown {
  try {
    return resolveSpec(...call)
  } catch (error) {
    return error
  }
}
const source = (found: ReturnType<typeof resolveSpec>) => found as Source

t.test(
  'paths are relative to the working directory, and are recorded relative to the application',
  async (t) => {
    const { root, lookup } = await lookupIn(t)
    const folder = source(resolveSpec('./mine', lookup))
    t.match(folder, { kind: 'folder', target: join(root, 'here', 'mine'), package: undefined })
    t.equal(folder.record('1.0.0'), 'file:../here/mine')
    const file = source(resolveSpec('mine.tgz', lookup))
    t.match(file, { kind: 'tarball', target: join(root, 'here', 'mine.tgz') })
    t.equal(lockedSource(locked('x', '1.0.0', file.record('1.0.0')), lookup.directory).target, file.target)
    t.equal(source(resolveSpec(join(root, 'here', 'mine'), lookup)).target, folder.target)
  },
)

t.test('a missing path and a folder without a package are not found', async (t) => {
  const { lookup } = await lookupIn(t)
  for (const text of ['./nothing', './nothing.tgz', './empty']) {
    t.throws(() => resolveSpec(text, lookup), { exitCode: 3, code: 'no-such-file' }, text)
  }
})

t.test('a scoped name is looked up on its registry, an unscoped one with npm: only', async (t) => {
  const { lookup } = await lookupIn(t)
  const scoped = source(resolveSpec('@acme/x@^1.2.0', lookup))
  t.match(scoped, { kind: 'registry', target: '@acme/x@^1.2.0', package: '@acme/x', range: '^1.2.0' })
  t.equal(scoped.record('1.3.0'), '@acme/x@^1.2.0')
  t.equal(source(resolveSpec('@acme/x', lookup)).record('1.3.0'), '@acme/x@^1.3.0')
  t.match(resolveSpec('@acme/x@next', lookup), { target: '@acme/x@next', range: undefined })
  const consent = source(resolveSpec('npm:x@1', lookup))
  t.match(consent, { kind: 'registry', target: 'x@1', package: 'x' })
  t.equal(consent.record('1.0.0'), 'npm:x@1')
  for (const text of ['x', 'x@1', 'x@latest']) {
    t.throws(() => resolveSpec(text, lookup), { exitCode: 3, code: 'unknown-module' }, text)
  }
})

t.test('git, URLs and other names for a package are refused', async (t) => {
  const { lookup } = await lookupIn(t)
  const refused = [
    'github:a/b',
    'a/b',
    'git+https://example.com/a.git',
    'https://example.com/a.tgz',
    'x@npm:y@1',
    'x@github:a/b',
    '@acme/x@https://example.com/a.tgz',
    'npm:https://example.com/a.tgz',
    'npm:./mine',
  ]
  for (const text of refused) {
    t.throws(() => resolveSpec(text, lookup), { exitCode: 4, code: 'refused-source' }, text)
  }
})

t.test('a path without ./ that looks like a repository is refused with a hint', async (t) => {
  const { root, lookup } = await lookupIn(t)
  await mkdir(join(root, 'here', 'packages', 'mine'), { recursive: true })
  t.match(failureOf('packages/mine', lookup), { exitCode: 4, hint: /\.\/packages\/mine/ })
})

t.test('an invalid spec is wrong usage', async (t) => {
  const { lookup } = await lookupIn(t)
  for (const text of ['', ' ', 'x y', 'npm:', '@', 'x@ftp://y', 'Ünnamed Module']) {
    t.throws(() => resolveSpec(text, lookup), { exitCode: 2, code: 'invalid-spec' }, text)
  }
})

t.test('a bare name is an installed module, an alias or a name in the index, in this order', async (t) => {
  const aliases = { 'api-cart': './mine', other: '@acme/other@^2' }
  const { lookup, root } = await lookupIn(t, {}, aliases)
  t.match(resolveSpec('api-purchase', lookup), {
    package: '@mortise/api-purchase',
    indexed: true,
    kind: 'folder',
  })
  t.match(resolveSpec('other', lookup), { target: '@acme/other@^2', indexed: false })
  t.match(resolveSpec('other@^3', lookup), { target: '@acme/other@^3' })
  await mkdir(join(root, 'app', 'mine'))
  t.match(failureOf('api-cart', lookup), { exitCode: 3 }, 'an alias is relative to the application')
  const installed = { 'api-cart': locked('@mortise/api-cart', '1.0.0', '@mortise/api-cart@^1.0.0') }
  t.strictSame(resolveSpec('api-cart', { ...lookup, lock: { ...lookup.lock, modules: installed } }), {
    installed: 'api-cart',
  })
})

t.test('a folder of the same name does not change what a bare name means', async (t) => {
  const { lookup } = await lookupIn(t)
  t.match(resolveSpec('api-cart', lookup), { package: '@mortise/api-cart', indexed: true })
})

t.test('an installed module can be named by id, package name, or a range that has its version', async (t) => {
  const modules = { review: locked('@acme/api-review', '1.4.0', '@acme/api-review@^1') }
  const { lookup } = await lookupIn(t, modules)
  for (const text of ['review', 'review@^1.2', '@acme/api-review']) {
    t.strictSame(resolveSpec(text, lookup), { installed: 'review' }, text)
  }
  t.match(resolveSpec('review@^2', lookup), { target: '@acme/api-review@^2' })
  t.match(resolveSpec('@acme/api-review@^1', lookup), { target: '@acme/api-review@^1' })
  t.equal(installedId(lookup.lock, 'toString'), undefined)
})

t.test('the full name of a module that came from a file means its registry', async (t) => {
  const modules = { review: locked('@acme/api-review', '1.4.0', 'file:../api-review-1.4.0.tgz') }
  const { lookup } = await lookupIn(t, modules)
  t.strictSame(resolveSpec('review', lookup), { installed: 'review' })
  t.match(resolveSpec('@acme/api-review', lookup), { kind: 'registry', target: '@acme/api-review' })
})

t.test('an unknown name is reported with the nearest ones', async (t) => {
  const { lookup } = await lookupIn(t)
  t.match(failureOf('api-crat', lookup), { hint: /api-cart/ })
  t.match(failureOf('weather', lookup), { hint: /npm:weather/ })
})

t.test('an installed module is downloaded again in exactly its version', async (t) => {
  const { lookup } = await lookupIn(t)
  const { directory } = lookup
  t.match(lockedSource(locked('@acme/x', '1.4.0', '@acme/x@^1'), directory), { target: '@acme/x@1.4.0' })
  t.match(lockedSource(locked('x', '1.4.0', 'npm:x@^1'), directory), { target: 'x@1.4.0' })
  const again = lockedSource(locked('@acme/x', '1.4.0', '@acme/x@^1'), directory)
  t.equal(again.record('1.4.0'), '@acme/x@^1')
})
