import t from 'tap'
import { aboutPackage, listDependencies } from '../../../src/install/plan/dependency-list.ts'

const json = (name: string, more: object = {}) => JSON.stringify({ name, version: '1.0.0', ...more })

t.test('a package without dependencies lists none', async (t) => {
  t.strictSame(await listDependencies(t.testdir({ 'package.json': json('module') })), [])
})

t.test('each name and version is one entry, with the bytes of all copies', async (t) => {
  const a = () => ({ 'package.json': json('a'), lib: { 'index.js': '1234567890' } })
  const size = (text: string) => Buffer.byteLength(text)
  const directory = t.testdir({
    'package.json': json('module'),
    node_modules: {
      '.package-lock.json': '{}',
      a: a(),
      '@acme': {
        b: {
          'package.json': json('@acme/b'),
          node_modules: { a: a(), c: { 'package.json': json('c', { version: '2.0.0' }) } },
          test: { node_modules: { none: { 'package.json': json('none') } } },
        },
      },
      c: { 'package.json': json('c') },
    },
  })
  const found = await listDependencies(directory)
  t.match(
    found.map(({ name, version, bytes }) => [name, version, bytes]),
    [
      ['@acme/b', '1.0.0', size(json('@acme/b')) + size(json('none'))],
      ['a', '1.0.0', 2 * (size(json('a')) + 10)],
      ['c', '1.0.0', size(json('c'))],
      ['c', '2.0.0', size(json('c', { version: '2.0.0' }))],
    ],
  )
})

t.test('the list has license, skipped scripts, deprecation and integrity', async (t) => {
  const directory = t.testdir({
    'package.json': json('module'),
    node_modules: {
      old: { 'package.json': json('old', { licenses: [{ type: 'MIT' }, { type: 'ISC' }] }) },
      compiled: { 'package.json': json('compiled', { license: { type: 'BSD' } }), 'binding.gyp': '{}' },
      scripted: {
        'package.json': json('scripted', {
          license: 'MIT',
          scripts: { postinstall: 'x', preinstall: 'x', test: 'x' },
        }),
        'binding.gyp': '{}',
        prebuilds: { x: { 'b.node': '', 'a.node': '' }, 'node.js': '' },
      },
      alias: { 'package.json': json('real') },
      broken: { 'package.json': '{' },
    },
  })
  const chosen = { 'node_modules/old': { version: '1.0.0', integrity: 'sha512-x', deprecated: 'use new' } }
  const found = await listDependencies(directory, chosen)
  t.match(Object.fromEntries(found.map((one) => [one.name, one])), {
    old: { license: 'MIT OR ISC', scripts: [], deprecated: 'use new', integrity: 'sha512-x' },
    compiled: { license: 'BSD', scripts: ['node-gyp rebuild'], deprecated: null, integrity: null },
    scripted: {
      license: 'MIT',
      scripts: ['preinstall', 'postinstall'],
      addons: ['prebuilds/x/a.node', 'prebuilds/x/b.node'],
    },
    alias: { alias: 'real', license: null },
    broken: { alias: null, version: 'without a version', license: null },
  })
})

t.test('what a package has itself is not what its dependencies have', async (t) => {
  const directory = t.testdir({
    'binding.gyp': '{}',
    build: { 'own.node': '' },
    node_modules: { native: { 'package.json': json('native'), 'other.node': '', 'binding.gyp': '{}' } },
  })
  t.strictSame(await aboutPackage({}, directory), {
    license: null,
    scripts: ['node-gyp rebuild'],
    addons: ['build/own.node'],
  })
  t.match(await listDependencies(directory), [{ name: 'native', addons: ['other.node'] }])
})
