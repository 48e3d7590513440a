import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { readArchive } from '@mortise/installer/data'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { backedUp as backedUpEntries } from '../backed-up.ts'
import { type Parts, packArchive } from '../pack-archive.ts'
import { runOnTerminal, testApplication } from '../run-app.ts'

/** An application with a module, and a backup of it whose parts can be changed. */
async function backedUp(t: Test) {
  const application = await testApplication(t)
  const { root, directory, run } = application
  const module = await sampleTarball(join(root, 'hello.tgz'))
  t.match(await run('module-install', module, '--yes'), { exitCode: 0 })
  const good = join(root, 'good.tgz')
  t.match(await run('backup', good, '--with-secret'), { exitCode: 0 })
  const folder = join(root, 'parts')
  await mkdir(folder)
  const manifest = await readArchive(good, folder)
  const parts: Parts = {}
  for (const name of Object.keys(manifest.parts)) parts[name] = await readFile(join(folder, name))
  const pack = async (changed: Parts, about: object = {}) => {
    const all = { ...parts, ...changed }
    return await packArchive(join(root, 'archive.tgz'), { ...manifest, ...about }, all)
  }
  const lock = JSON.parse((parts['modules.lock.json'] as Buffer).toString())
  const secret = () => readFile(join(directory, '.app', 'secret'), 'utf8')
  return { ...application, good, lock, pack, secret }
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

t.test('what is wrong in an archive is refused by verify and by restore, before any change', async (t) => {
  const { root, directory, run, lock, pack, secret } = await backedUp(t)
  const locked = (change: object) =>
    json({ ...lock, modules: { hello: { ...lock.modules.hello, ...change } } })
  const stranger = new Database(join(root, 'stranger.db'))
  stranger.exec('CREATE TABLE customer (id INTEGER PRIMARY KEY)')
  stranger.close()
  const cases: readonly [what: string, parts: Parts, about?: object][] = [
    ['a secret of one byte', { secret: Buffer.from('x\n') }],
    ['a secret that is no text', { secret: Buffer.concat([Buffer.alloc(40, 'x'), Buffer.from([0, 255])]) }],
    ['a secret without end', { secret: Buffer.alloc(10_000, 'x') }],
    ['an empty database', { 'data.db': Buffer.alloc(0) }],
    ['zeros', { 'data.db': Buffer.alloc(1024 * 1024) }],
    ['a database of another program', { 'data.db': await readFile(join(root, 'stranger.db')) }],
    ['a configuration that is no object', { 'app.config.json': json([]) }],
    ['a generation that no number holds', { 'modules.lock.json': json({ ...lock, generation: 2 ** 53 }) }],
    ['a package name that leads out', { 'modules.lock.json': locked({ package: '../../../x' }) }],
    ['a version that leads out', { 'modules.lock.json': locked({ version: '1/../../x' }) }],
    ['an integrity that is none', { 'modules.lock.json': locked({ integrity: 'sha512-x' }) }],
    ['a tree that is none', { 'modules.lock.json': locked({ tree: '../x' }) }],
    ...[
      '../../x',
      'node_modules/../x',
      '/node_modules/x',
      'node_modules/x/../../y',
      'x',
      'node_modules/',
    ].map((place): (typeof cases)[number] => [
      `a dependency at ${place}`,
      { 'modules.lock.json': locked({ dependencies: { [place]: { version: '1.0.0' } } }) },
    ]),
    [
      'a dependency whose name leads out',
      {
        'modules.lock.json': locked({
          dependencies: { 'node_modules/x': { name: '../x', version: '1.0.0' } },
        }),
      },
    ],
    [
      'a module id that leads out',
      { 'modules.lock.json': json({ ...lock, modules: { '../evil': lock.modules.hello } }) },
    ],
    ['a generation in the manifest that no number holds', {}, { generation: 2 ** 53 }],
    ['no time', {}, { at: 'yesterday' }],
    ['the kind of another archive', {}, { kind: 'module', module: '../evil' }],
  ]
  const before = [await secret(), await readFile(join(directory, 'modules.lock.json'), 'utf8')]
  for (const [what, parts, about] of cases) {
    const file = await pack(parts, about)
    const refused = { exitCode: 4, json: { error: { code: 'bad-archive' } } }
    t.match(await run('backup', 'verify', file), refused, `verify: ${what}`)
    t.match(await run('restore', file, '--with-secret', '--yes'), refused, `restore: ${what}`)
  }
  t.strictSame([await secret(), await readFile(join(directory, 'modules.lock.json'), 'utf8')], before)
  t.match(await run('backup', 'verify', await pack({})), { exitCode: 0 }, 'the parts are right otherwise')
})

t.test('what unpacks to more than the manifest says is refused at once', async (t) => {
  const { run, good, root } = await backedUp(t)
  const file = join(root, 'bomb.tgz')
  const whole = gunzipSync(await readFile(good))
  const zeros = Buffer.alloc(64 * 1024 * 1024)
  for (const tar of [Buffer.concat([whole, zeros]), Buffer.concat([zeros, whole])]) {
    await writeFile(file, gzipSync(tar, { level: 1 }))
    const refused = { exitCode: 4, json: { error: { message: /more bytes than its manifest says/ } } }
    t.match(await run('backup', 'verify', file), refused)
  }
  await writeFile(file, gzipSync(await readFile(good)))
  t.match(await run('backup', 'verify', file), { json: { error: { message: /compressed twice/ } } })
})

t.test('a restoration with the configuration keeps the current one beside', async (t) => {
  const { directory, run, good } = await backedUp(t)
  t.match(await run('config', 'set', 'rateLimit.max', '7'), { exitCode: 0 })
  const current = await readFile(join(directory, 'app.config.json'), 'utf8')
  const restored = await run('restore', good, '--with-config', '--yes')
  t.match(restored, { exitCode: 0, stderr: /current app\.config\.json is kept as app\.config\.json\.before/ })
  const kept = join(directory, `app.config.json.before-generation-${restored.json.generation}`)
  t.equal(await readFile(kept, 'utf8'), current)
  t.not(await readFile(join(directory, 'app.config.json'), 'utf8'), current)
})

t.test('a restoration with the secret keeps the current one beside', async (t) => {
  const { directory, run, good, secret } = await backedUp(t)
  const archived = await secret()
  await run('secret', 'rotate', '--now')
  const current = await secret()
  const restored = await run('restore', good, '--with-secret', '--yes')
  t.match(restored, { exitCode: 0 })
  t.equal(await secret(), archived)
  const kept = join(directory, '.app', `secret.before-generation-${restored.json.generation}`)
  t.equal(await readFile(kept, 'utf8'), current)
  t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
})

t.test('what no migration makes is left out of a restored database, and named', async (t) => {
  const { root, file, run, directory } = await backedUpEntries(t)
  const folder = join(root, 'foreign')
  await mkdir(folder)
  const manifest = await readArchive(file, folder)
  const database = new Database(join(folder, 'data.db'))
  database.exec(`
    CREATE TABLE customer (id INTEGER PRIMARY KEY);
    CREATE VIEW totals AS SELECT count(*) AS count FROM entry;
    CREATE VIEW entry_totals AS SELECT count(*) AS count FROM entry;
    CREATE INDEX faster ON entry (filler);
    CREATE TRIGGER entry_audit AFTER INSERT ON entry BEGIN DELETE FROM mortise_event; END;
    CREATE TRIGGER mortise_stranger AFTER INSERT ON mortise_event BEGIN DELETE FROM entry; END;
    ALTER TABLE entry ADD COLUMN note TEXT`)
  database.close()
  const parts: Parts = {}
  for (const name of Object.keys(manifest.parts)) parts[name] = await readFile(join(folder, name))
  const altered = await packArchive(join(root, 'altered.tgz'), manifest, parts)
  const removed = [
    'the trigger "entry_audit" on "entry"',
    'the trigger "mortise_stranger" on "mortise_event"',
    'the view "totals"',
    'the view "entry_totals"',
    'the index "faster" on "entry"',
    'the table "customer"',
  ]
  const differences = ['the column "note" of "entry" was added']
  const verified = await run('backup', 'verify', altered)
  t.match(verified, { exitCode: 0, json: { foreign: { removed, differences } } })
  t.match(verified.stderr, /Left out, since no migration makes it: the trigger "entry_audit"/)
  t.match(await run('restore', altered, '--yes'), { exitCode: 0, stderr: /Left out.*"totals".*Differs/s })
  const restored = new Database(join(directory, 'data', 'app.db'), { readonly: true })
  const names = restored.prepare('SELECT name FROM sqlite_schema').pluck().all()
  restored.close()
  for (const name of ['customer', 'totals', 'entry_totals', 'faster', 'entry_audit', 'mortise_stranger'])
    t.notOk(names.includes(name), name)
  t.ok(names.includes('entry'))
  t.match((await run('backup', 'verify', file)).json.foreign, { removed: [], differences: [] })
})

t.test('what an archive names is agreed to before anything is replaced', async (t) => {
  const { root, directory, run, lock, pack } = await backedUp(t)
  const ran = join(root, 'ran')
  const evil = await sampleTarball(join(root, 'evil.tgz'), {
    main: `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(ran)}, '')\nexport default {}`,
  })
  const { hello } = lock.modules
  const other = { ...hello, spec: `file:${evil}` }
  const tree = `sha512-${Buffer.alloc(64, 1).toString('base64')}`
  const { enabled: _, ...host } = { ...other, package: '@mortise/host' }
  const mortise = { ...hello, package: '@mortise/api-cart', spec: '@mortise/api-cart@^1.0.0', tree }
  const dependencies = { 'node_modules/x': { name: 'evil', version: '1.0.0' } }
  const cases: readonly [what: string, change: object, names: RegExp][] = [
    ['the source of later versions', { modules: { hello: other } }, /hello \(file:.*evil\.tgz\) is a new/],
    ['other files', { modules: { hello: { ...hello, tree } } }, /hello \(file:.*\) is a new/],
    ['a package of a registry', { modules: { hello, x: { ...other, spec: 'npm:x@1' } } }, /x \(npm:x@1\)/],
    ['a host', { host }, /host \(file:.*evil\.tgz\)/],
    ['the name of Mortise', { modules: { cart: { ...mortise, spec: `file:${evil}` } } }, /cart \(file:/],
    ['a dependency under it', { modules: { cart: { ...mortise, dependencies } } }, /cart \(@mortise/],
    [
      'a spec of two lines',
      { modules: { hello: { ...other, spec: 'npm:x@1\n\u001b[2K!' } } },
      /npm:x@1 \[2K!/,
    ],
  ]
  const files = () =>
    Promise.all(['modules.lock.json', 'data/app.db'].map((name) => readFile(join(directory, name))))
  const before = await files()
  for (const [what, change, message] of cases) {
    const file = await pack({ 'modules.lock.json': json({ ...lock, ...change }) })
    t.match(
      await run('restore', file),
      { exitCode: 4, json: { error: { code: 'new-source', message, hint: /^Nothing was changed/ } } },
      what,
    )
    t.match(await runOnTerminal('n', 'restore', file, '--dir', directory), {
      exitCode: 4,
      said: /Trust it\? \[y\/N\]/,
    })
    t.strictSame(await files(), before, what)
  }
  t.match(await run('restore', await pack({})), { exitCode: 0 }, 'what was agreed to here is not asked about')
  const shipped = { ...lock, modules: { 'api-cart': mortise } }
  t.match(await run('restore', await pack({ 'modules.lock.json': json(shipped) })), { exitCode: 0 })
  const file = await pack({ 'modules.lock.json': json({ ...lock, modules: { hello: other } }) })
  t.match(await run('restore', file, '--yes'), { exitCode: 0 })
  t.notOk(existsSync(ran), 'a restoration runs nothing')
})
