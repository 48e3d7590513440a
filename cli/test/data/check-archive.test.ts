import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { readArchive } from '../../src/data/read-archive.ts'
import { testApplication } from '../run-app.ts'
import { sampleTarball } from '../sample-module.ts'
import { tarball } from '../tarball.ts'

type Parts = Record<string, Buffer>

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
    const measured = Object.entries(all).map(([name, body]) => {
      return [name, { bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }]
    })
    const text = JSON.stringify({ ...manifest, ...about, parts: Object.fromEntries(measured) })
    const entries = Object.entries(all).map(([path, body]) => ({ path, body }))
    const file = join(root, 'archive.tgz')
    await writeFile(file, tarball([{ path: 'manifest.json', body: text }, ...entries]))
    return file
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
