import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { fakeRegistry, published } from '../../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../../run-app.ts'

const word = (version: string, more: object = {}) =>
  published({ name: 'word', version, license: 'MIT', ...more }, { 'index.js': '' })

const old = published({ name: 'old', version: '0.9.0', deprecated: 'use word', scripts: { install: 'x' } })

t.test('the plan names the hosts that a module connects to, and says that a version is older', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = (version: string) =>
    sampleTarball(join(root, `${version}.tgz`), {
      version,
      manifest: { network: ['api.stripe.com', 'localhost:25'] },
    })
  const first = await run('module-install', '--yes', await file('1.1.0'))
  t.match(first.stderr, /^hello 1\.1\.0, from /m)
  t.match(first.stderr, /^ +connections to api\.stripe\.com, localhost:25$/m)
  t.match(first.json.installed, [{ isOlder: false, network: ['api.stripe.com', 'localhost:25'] }])
  const older = await run('module-install', '--yes', await file('1.0.0'), '--dry-run')
  t.match(older.stderr, /^hello 1\.0\.0 \(instead of 1\.1\.0, which is newer: its tables stay\), from /m)
  t.match(older.stderr, /a downgrade from 1\.1\.0$/m)
  t.match(older.json.installed, [{ isOlder: true }])
  const { stdout } = await runApp('module-install', '--yes', await file('1.0.0'), '--dir', directory)
  t.match(stdout, /^Installed hello 1\.0\.0 instead of 1\.1\.0, which is newer$/m)
})

t.test(
  'the plan and module-info list all packages of a module, and the differences that an upgrade makes',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    const { registry } = await fakeRegistry(t, [old, word('1.0.0'), word('2.0.0')])
    process.env.npm_config_registry = registry
    const file = (version: string, dependencies: object) =>
      sampleTarball(join(root, `${version}.tgz`), {
        version,
        json: { license: 'ISC', dependencies, scripts: { postinstall: 'x' } },
      })
    const first = await run(
      'module-install',
      '--yes',
      '--verbose',
      await file('1.0.0', { word: '^1.0.0', old: '*' }),
    )
    t.equal(first.exitCode, 0, first.stdout)
    t.match(first.json.installed, [
      {
        license: 'ISC',
        scripts: ['postinstall'],
        deprecated: null,
        dependencies: [
          { name: 'old', version: '0.9.0', license: null, scripts: ['install'], deprecated: 'use word' },
          { name: 'word', version: '1.0.0', license: 'MIT', change: 'added', integrity: /^sha512-/ },
        ],
        removedDependencies: [],
      },
    ])
    t.match(first.stderr, /^ {2}license +ISC\n {2}note +scripts skipped: postinstall$/m)
    t.match(
      first.stderr,
      /^ {2}depends on {2}2 packages, 0\.\d kB\n +old 0\.9\.0 \(no license, 0\.\d kB, scripts skipped: install, deprecated: use word\)\n +word 1\.0\.0 \(MIT, 0\.\d kB\)$/m,
    )

    const dry = await run(
      'module-install',
      '--yes',
      '--verbose',
      await file('1.1.0', { word: '^2.0.0' }),
      '--dry-run',
    )
    t.match(dry.json.installed, [
      {
        dependencies: [{ name: 'word', version: '2.0.0', change: 'changed', replaces: '1.0.0' }],
        removedDependencies: [{ name: 'old', version: '0.9.0' }],
      },
    ])
    t.match(
      dry.stderr,
      /1 package, 0\.\d kB: 1 in another version, 1 removed\n +~ word 1\.0\.0 → 2\.0\.0 .*\n +- old 0\.9\.0$/m,
    )

    const { json } = await run('module-info', 'hello')
    t.match(json, {
      dependencies: [
        { name: 'old', deprecated: 'use word', change: null },
        { name: 'word', integrity: /^sha512-/, change: null },
      ],
    })
    const { stdout } = await runApp('module-info', 'hello', '--dir', directory)
    t.match(stdout, /^ {2}depends on {2}2 packages, 0\.\d kB\n +old 0\.9\.0 \(/m)
  },
)

t.test('the plan shows native code and a large size, of the module and with its dependencies', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const native = published(
    { name: 'native', version: '1.0.0', scripts: { postinstall: 'x' } },
    { 'prebuilds/linux-x64/native.node': randomBytes(5_000_000).toString('hex') },
  )
  const { registry } = await fakeRegistry(t, [native])
  process.env.npm_config_registry = registry
  const small = await run(
    ...[
      'module-install',
      '--yes',
      '--verbose',
      await sampleTarball(join(root, 'small.tgz'), { id: 'small' }),
    ],
  )
  t.match(small.json.installed, [{ addons: [], isLarge: false }])
  t.equal(small.json.installed[0].ownBytes, small.json.installed[0].bytes)
  t.match(small.stderr, /^ {2}size +2 files, 0\.\d kB$/m)
  t.notMatch(small.stderr, /^ {2}note/m)

  const file = await sampleTarball(join(root, 'hello.tgz'), {
    json: { dependencies: { native: '*' } },
    files: { 'build/own.node': '' },
  })
  const { json, stderr } = await run('module-install', '--yes', '--verbose', file, '--dry-run')
  t.match(json.installed, [
    {
      addons: ['build/own.node'],
      isLarge: true,
      dependencies: [{ addons: ['prebuilds/linux-x64/native.node'], scripts: ['postinstall'] }],
    },
  ])
  const [{ bytes, ownBytes, dependencies }] = json.installed
  t.equal(bytes - ownBytes, dependencies[0].bytes)
  t.match(stderr, /^ {2}note +native code: build\/own\.node$/m)
  t.match(stderr, / native 1\.0\.0 \(.*postinstall, native code: prebuilds\/linux-x64\/native\.node\)$/m)
  t.match(stderr, /^ {2}size +5 files, 10\.0 MB; 0\.\d kB without dependencies\n +large: more than 10\.0 MB/m)
  const { stdout } = await runApp('module-info', file, '--dir', directory)
  t.match(stdout, /^ {2}note +native code: build\/own\.node$/m)
})

t.test('the plan shows a deprecated module', async (t) => {
  const { run } = await testApplication(t)
  const { 'package.json': json = '', ...files } = sampleFiles()
  const deprecated = published({ ...JSON.parse(json), deprecated: 'use hallo' }, files)
  const { registry } = await fakeRegistry(t, [deprecated])
  process.env.npm_config_registry = registry
  const { json: document, stderr } = await run(
    'module-install',
    '--yes',
    '--verbose',
    '@acme/hello',
    '--dry-run',
  )
  t.match(document.installed, [{ deprecated: 'use hallo', license: null, dependencies: [] }])
  t.match(stderr, /^ {2}license +no license\n {2}note +deprecated: use hallo$/m)
  t.match(stderr, /^ {2}depends on {2}no other package$/m)
})

t.test(
  'the plan of an upgrade is five lines: a new migration is marked, and there is a way back',
  async (t) => {
    const { root, run } = await testApplication(t)
    const manifest = { tables: 'hello', migrations: 'migrations' }
    const first = {
      'migrations/001-hello.sql': 'CREATE TABLE hello (id TEXT PRIMARY KEY)',
      'migrations/001-hello.down.sql': 'DROP TABLE hello',
    }
    const second = {
      'migrations/002-gift.sql': 'ALTER TABLE hello ADD COLUMN gift TEXT',
      'migrations/002-gift.down.sql': 'ALTER TABLE hello DROP COLUMN gift',
    }
    const file = join(root, 'hello.tgz')
    await run('module-install', '--yes', await sampleTarball(file, { manifest, files: first }))
    await sampleTarball(file, { version: '1.0.1', manifest, files: { ...first, ...second } })
    const { stderr, json } = await run('module-install', '--yes', file, '--dry-run')
    t.strictSame(stderr.trim().split('\n'), [
      `hello 1.0.1 (instead of 1.0.0), from ${file}`,
      '  breaking    nothing in its files',
      '  changes     new migration 002-gift.sql; + hello.gift TEXT',
      '  asks for    nothing',
      '  to go back  app module-rollback (undoes 002-gift.sql)',
    ])
    t.match(json.installed[0].migrations, [
      { file: '001-hello.sql', isNew: false },
      { file: '002-gift.sql', isNew: true },
    ])
    const full = await run('module-install', '--yes', file, '--dry-run', '--verbose')
    t.match(full.stderr, /^ {2}migrations +001-hello\.sql\n +\+ 002-gift\.sql$/m)
    t.match(full.stderr, /^ {2}integrity +sha512-/m)

    const stuck = { ...first, 'migrations/002-gift.sql': second['migrations/002-gift.sql'] }
    await sampleTarball(file, { version: '1.0.1', manifest, files: stuck })
    t.match(
      (await run('module-install', '--yes', file, '--dry-run')).stderr,
      /go back +002-gift\.sql cannot be undone/,
    )
  },
)

t.test('the short plan has every fact that an operator agrees to', async (t) => {
  const { root, run } = await testApplication(t)
  const native = published(
    { name: 'native', version: '1.0.0', scripts: { postinstall: 'x' } },
    { 'prebuilds/native.node': randomBytes(5_500_000).toString('hex') },
  )
  const { registry } = await fakeRegistry(t, [native])
  process.env.npm_config_registry = registry
  const file = await sampleTarball(join(root, 'hello.tgz'), {
    json: { dependencies: { native: '*' }, scripts: { install: 'x' } },
    files: { 'build/own.node': '' },
  })
  const { stderr, json } = await run('module-install', '--yes', file, '--dry-run')
  for (const fact of [
    /trust in a new source/,
    / scripts skipped: install$/m,
    / native code: build\/own\.node$/m,
    / native 1\.0\.0: scripts skipped: postinstall$/m,
    / native 1\.0\.0: native code: prebuilds\/native\.node$/m,
    / room: 11\.0 MB, /,
  ])
    t.match(stderr, fact)
  t.match(json.installed, [{ isNewSource: true }])
})
