import t from 'tap'
import { dependencyChanges, dependencyLines } from '../../../src/install/plan/dependency-changes.ts'
import type { Dependency } from '../../../src/install/plan/dependency-list.ts'

const dependency = (name: string, version = '1.0.0', more: Partial<Dependency> = {}): Dependency => ({
  name,
  alias: null,
  version,
  license: 'MIT',
  bytes: 1000,
  scripts: [],
  addons: [],
  deprecated: null,
  integrity: null,
  ...more,
})

t.test('added, removed and changed dependencies are listed against the previous version', async (t) => {
  const before = [dependency('same'), dependency('newer'), dependency('gone'), dependency('twice', '2.0.0')]
  const now = [
    dependency('same'),
    dependency('newer', '1.1.0'),
    dependency('fresh'),
    dependency('twice', '2.0.0'),
    dependency('twice', '3.0.0'),
  ]
  const changes = dependencyChanges(now, before)
  t.strictSame(
    changes.dependencies.map(({ name, version, change, replaces }) => [name, version, change, replaces]),
    [
      ['same', '1.0.0', null, null],
      ['newer', '1.1.0', 'changed', '1.0.0'],
      ['fresh', '1.0.0', 'added', null],
      ['twice', '2.0.0', null, null],
      ['twice', '3.0.0', 'added', null],
    ],
  )
  t.strictSame(changes.removedDependencies, [{ name: 'gone', version: '1.0.0' }])
  t.strictSame(dependencyLines(changes, true), [
    '5 packages, 5.0 kB: 2 added, 1 in another version, 1 removed',
    '  same 1.0.0 (MIT, 1.0 kB)',
    '~ newer 1.0.0 → 1.1.0 (MIT, 1.0 kB)',
    '+ fresh 1.0.0 (MIT, 1.0 kB)',
    '  twice 2.0.0 (MIT, 1.0 kB)',
    '+ twice 3.0.0 (MIT, 1.0 kB)',
    '- gone 1.0.0',
  ])
  t.strictSame(dependencyLines(changes, true, true).length, 5, 'in brief, what is the same is left out')
  const native = dependencyChanges([dependency('native', '1.0.0', { addons: ['a.node'] })])
  t.match(dependencyLines(native, true, true), [/same/, /native 1\.0\.0 \(.*, native code: a\.node\)$/])
})

t.test('without a previous version all dependencies are new; if unknown, none is', async (t) => {
  const one = dependency('one', '1.0.0', {
    alias: 'other',
    license: null,
    scripts: ['install'],
    addons: ['a.node', 'b.node'],
    deprecated: `gone\n${'x'.repeat(200)}`,
  })
  const changes = dependencyChanges([one], [])
  t.match(changes, { dependencies: [{ change: 'added' }] })
  t.match(dependencyChanges([one]), { dependencies: [{ change: null }] })
  const lines = dependencyLines(changes, false)
  t.equal(lines[0], '1 package, 1.0 kB')
  t.match(
    lines[1],
    /^one 1\.0\.0 \(the package other, no license, 1\.0 kB, scripts skipped: install, native code: a\.node b\.node, deprecated: gone x+…\)$/,
  )
  t.strictSame(dependencyLines(dependencyChanges([], []), false), ['no other package'])
  t.strictSame(
    dependencyLines(dependencyChanges([dependency('a')], [dependency('a')]), true)[0],
    '1 package, 1.0 kB, the same as before',
  )
})
