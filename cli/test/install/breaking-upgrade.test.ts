import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { readLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { type SampleOptions, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { app } from '../../src/app.ts'
import { runApp, testApplication } from '../run-app.ts'

/** Upgrades as someone at a terminal who types `reply`. */
async function upgradeAt(reply: string, ...argv: string[]) {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
  const streams = { stdin: terminal(), stdout: new PassThrough(), stderr: terminal() }
  streams.stdin.end(`${reply}\n`)
  const exitCode = await app(['module-upgrade', ...argv], streams)
  return { exitCode, said: String(streams.stderr.read()) }
}

const post = (path: string, access: string, body: string) =>
  `app.post('${path}', { config: { access: '${access}' }, schema: { body: ${body} } }, async () => ({}))`

const shop = (
  version: string,
  manifest: { readonly events?: readonly string[]; readonly [key: string]: unknown },
  plugin: readonly string[],
  more: SampleOptions = {},
): SampleOptions => ({
  id: 'shop',
  version,
  manifest: { ...manifest },
  main: `import { defineModule } from '@mortise/module-sdk'
    import { Type } from '@sinclair/typebox'
    const events = { ${(manifest.events ?? []).map((type) => `'${type}': Type.Object({})`)} }
    export default defineModule('shop', { events }).plugin(async (app) => {
      ${plugin.join('\n')}
    })`,
  json: { peerDependencies: { '@mortise/module-sdk': '^1.0.0', '@sinclair/typebox': '*' } },
  ...more,
})

const settings = (...names: string[]) => ({
  'settings.json': JSON.stringify({
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  }),
})

const tables = { tables: 'shop', migrations: 'migrations' }
const first = shop(
  '1.0.0',
  {
    ...tables,
    routes: ['POST /shop', 'POST /shop/:id', 'POST /shop/gone'],
    provides: { stock: '1.2.0', price: '1.0.0' },
    events: ['shop.opened', 'shop.closed'],
    config: 'settings.json',
  },
  [
    post('/shop', 'public', 'Type.Object({ text: Type.Optional(Type.String()) })'),
    post('/shop/:id', 'caller', 'Type.Object({})'),
    post('/shop/gone', 'public', 'Type.Object({})'),
  ],
  {
    files: {
      ...settings('name', 'color'),
      'migrations/001-shop.sql':
        'CREATE TABLE shop (id TEXT PRIMARY KEY, name TEXT); CREATE TABLE shop_old (id TEXT);',
    },
  },
)
const second = shop(
  '2.0.0',
  {
    ...tables,
    routes: ['POST /shop', 'POST /shop/:key'],
    provides: { stock: '2.0.0' },
    events: ['shop.opened'],
    config: 'settings.json',
  },
  [
    post('/shop', 'public', 'Type.Object({ text: Type.String() })'),
    post('/shop/:key', 'shop:write', 'Type.Object({})'),
  ],
  {
    files: {
      ...settings('name'),
      'migrations/001-shop.sql': first.files?.['migrations/001-shop.sql'] ?? '',
      'migrations/002-shop.sql': `DROP TABLE shop_old;
        DROP TABLE shop;
        CREATE TABLE shop (id TEXT PRIMARY KEY, name TEXT NOT NULL, size BIGINT);`,
    },
  },
)

const byManifest = [
  { module: 'shop', code: 'route-removed', message: 'The route POST /shop/gone is removed.' },
  {
    module: 'shop',
    code: 'contract-changed',
    message: 'The contract stock is now 2.0.0, which is not in the range ^1.2.0.',
  },
  { module: 'shop', code: 'contract-changed', message: 'The contract price is no longer provided.' },
  { module: 'shop', code: 'event-removed', message: 'The event shop.closed is removed.' },
  { module: 'shop', code: 'setting-removed', message: 'The setting color is removed.' },
  {
    module: 'shop',
    code: 'table-changed',
    message: 'shop.name is required now: the previous version could not add a row.',
  },
  {
    module: 'shop',
    code: 'table-changed',
    message: 'shop_old is dropped: statements of the previous version that use it would fail.',
  },
]
const byProbe = [
  { module: 'shop', code: 'input-narrowed', message: 'POST /shop: the body requires "text" now.' },
  {
    module: 'shop',
    code: 'access-tightened',
    message: 'POST /shop/:id: it requires the scope shop:write now (before: caller).',
  },
]

/** An application with the first version, whose file is the second by now. */
async function outdated(t: Test) {
  const application = await testApplication(t)
  const file = join(application.root, 'shop.tgz')
  t.equal((await application.run('module-install', '--yes', await sampleTarball(file, first))).exitCode, 0)
  await sampleTarball(file, second)
  return application
}

t.test(
  'breaking changes are listed: some before the probe, the rest after it, in a dry run too',
  async (t) => {
    const { directory, run } = await outdated(t)
    const before = await readFile(join(directory, 'modules.lock.json'), 'utf8')
    const dry = await run('module-upgrade', '--dry-run')
    t.equal(dry.exitCode, 0)
    t.match(
      dry.stderr,
      /^ {2}breaking +The route POST \/shop\/gone is removed\.$[\s\S]*^shop 2\.0\.0 after loading$/m,
    )
    t.notMatch(dry.stderr, /Installing/)
    t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), before)

    const done = await run('module-upgrade', '--verbose')
    t.equal(done.exitCode, 0, done.stdout)
    const [{ breaking, access, schema, schemaChanges }] = done.json.installed
    t.strictSame(dry.json.installed, done.json.installed)
    t.strictSame(breaking, [...byManifest, ...byProbe])
    t.strictSame(access, { 'POST /shop': 'public', 'POST /shop/:key': 'shop:write' })
    t.match(schema, [
      { name: 'shop', columns: [{ name: 'id', type: 'TEXT' }, { required: true }, { required: false }] },
    ])
    t.strictSame(schemaChanges, [
      { table: 'shop', column: 'name', from: 'TEXT', to: 'TEXT NOT NULL' },
      { table: 'shop', column: 'size', from: null, to: 'BIGINT' },
      { table: 'shop_old', column: null, from: '(id TEXT)', to: null },
    ])
    t.match(done.stderr, /^ {2}changes +~ shop\.name TEXT, then TEXT NOT NULL$/m)
    t.match(done.stderr, /^ {2}access +POST \/shop \(public\)$/m)
    t.match(done.stderr, /^ {2}breaking +POST \/shop: the body requires "text" now\.$/m)
    t.match(done.stderr, /Installing shop 2\.0\.0 in spite of the breaking changes/)
  },
)

t.test('on a terminal it asks; only yes installs; --yes skips the question', async (t) => {
  const { directory } = await outdated(t)
  const before = await readLockFile(directory)
  const declined = await upgradeAt('n', '--dir', directory)
  t.equal(declined.exitCode, 4)
  t.match(declined.said, /"text" now[\s\S]*shop 2\.0\.0 has the breaking changes above.*\[y\/N\]/)
  t.strictSame(await readLockFile(directory), before)
  t.equal((await upgradeAt('n', '--yes', '--dir', directory)).exitCode, 0)
})

t.test('--fail-on-breaking refuses breaking changes only, also in scripts and dry runs', async (t) => {
  const { root, directory, run } = await outdated(t)
  const before = await readLockFile(directory)
  const refused = {
    exitCode: 4,
    json: { error: { code: 'breaking', message: /^shop 2\.0\.0 is refused/, breaking: byManifest } },
  }
  t.match(await run('module-upgrade', '--fail-on-breaking'), refused)
  t.match(await run('module-upgrade', '--fail-on-breaking', '--yes'), refused)
  t.match(await run('module-upgrade', '--fail-on-breaking', '--dry-run'), refused)
  t.match(await run('module-install', '--yes', join(root, 'shop.tgz'), '--fail-on-breaking'), refused)
  t.strictSame(await readLockFile(directory), before)
  const hello = join(root, 'hello.tgz')
  t.equal(
    (await run('module-install', '--yes', await sampleTarball(hello), '--fail-on-breaking')).exitCode,
    0,
  )
  const guarded = "app.get('/hello', { config: { access: 'hello:read' } }, async () => ({}))"
  await sampleTarball(hello, { version: '1.1.0', plugin: guarded })
  for (const more of [['--dry-run'], []]) {
    const probed = await run('module-upgrade', 'hello', '--fail-on-breaking', ...more)
    t.match(
      probed,
      {
        exitCode: 4,
        json: { error: { code: 'breaking', breaking: [{ code: 'access-tightened', module: 'hello' }] } },
      },
      'what only the probe finds',
    )
    t.match(probed.stderr, /after loading\n {2}breaking /m)
  }
  t.match((await readLockFile(directory)).modules.hello, { version: '1.0.0' })
  for (const command of ['module-install', 'module-upgrade'])
    t.match((await runApp(command, '--help')).stdout, /--fail-on-breaking/)
})

t.test('an older version changes no table: the schema stays newer', async (t) => {
  const { root, directory, run } = await outdated(t)
  t.equal((await run('module-upgrade')).exitCode, 0)
  await sampleTarball(join(root, 'shop.tgz'), first)
  const { json } = await run('module-upgrade', '--dry-run')
  t.match(json, {
    installed: [{ version: '1.0.0', schemaChanges: [], breaking: [{ code: 'contract-changed' }] }],
  })
  t.match(await readLockFile(directory), { modules: { shop: { version: '2.0.0' } } })
})

t.test('an upgrade that breaks nothing does not ask', async (t) => {
  const { root, directory } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.equal((await runApp('module-install', '--yes', file, '--dir', directory)).exitCode, 0)
  await sampleTarball(file, { version: '1.1.0' })
  const { exitCode, said } = await upgradeAt('n', '--dir', directory)
  t.equal(exitCode, 0)
  t.notMatch(said, /\[y\/N\]|^ {2}breaking +(?!nothing|\s)|Installing shop/m)
})
