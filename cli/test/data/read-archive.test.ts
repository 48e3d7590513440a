import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { readLockFile } from '@mortise/application'
import { runWithoutHost } from '@mortise/host'
import { readArchive } from '@mortise/installer/data'
import t, { type Test } from 'tap'
import { type Entry, tarball } from '../../../packages/installer/test/tarball.ts'
import { testApplication } from '../run-app.ts'

const DATA = Buffer.from('not a database')
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex')
const part = (data: Buffer | string) => ({ bytes: Buffer.byteLength(data), sha256: sha256(data) })

function manifest(changes: object = {}): Entry {
  const base = {
    format: 'mortise-archive',
    version: 1,
    kind: 'module',
    module: 'entry',
    host: '1.0.0',
    generation: 1,
    at: '2026-01-01T00:00:00Z',
    parts: { 'data.db': part(DATA) },
  }
  return { path: 'manifest.json', body: JSON.stringify({ ...base, ...changes }) }
}
const data: Entry = { path: 'data.db', body: DATA }

async function read(t: Test, archive: Buffer) {
  const folder = join(t.testdir({}), 'out')
  await mkdir(folder)
  const file = join(t.testdirName, 'a.tgz')
  await writeFile(file, archive)
  return { folder, result: readArchive(file, folder) }
}

t.test('an archive returns its manifest and its parts', async (t) => {
  const { folder, result } = await read(t, tarball([manifest(), data]))
  t.match(await result, { kind: 'module', module: 'entry' })
  t.strictSame(await readdir(folder), ['data.db'])
  t.strictSame(await readFile(join(folder, 'data.db')), DATA)
})

const whole = tarball([manifest(), data])
const evil = (path: string, more: Partial<Entry> = {}): Entry[] => [manifest(), { path, body: DATA, ...more }]
const hostile: [string, Buffer, RegExp][] = [
  ['plain text', Buffer.from('hello'), /not a gzipped tarball/],
  ['nothing', Buffer.alloc(0), /not a gzipped tarball/],
  ['a tarball of something else', tarball([{ path: 'package/index.js', body: 'x' }]), /begins with/],
  ['no manifest first', tarball([data, manifest()]), /begins with "data.db"/],
  [
    'a manifest of another kind',
    tarball([{ path: 'manifest.json', body: '{"name":"web app"}' }]),
    /not an archive of "app backup"/,
  ],
  ['a manifest that is no JSON', tarball([{ path: 'manifest.json', body: '{' }]), /JSON/],
  ['a newer format', tarball([manifest({ version: 2 }), data]), /version 2/],
  ['a part with a path', tarball([manifest({ parts: { '../data.db': part(DATA) } })]), /names the part/],
  ['a part called like a prototype', tarball(evil('__proto__')), /not in its manifest/],
  ['an absolute path', tarball(evil('/tmp/data.db')), /not in its manifest/],
  ['a path that leads out', tarball(evil('../data.db')), /not in its manifest/],
  [
    'a symbolic link',
    tarball(evil('data.db', { type: '2', link: '/etc/passwd', body: '' })),
    /is not a file/,
  ],
  ['a hard link', tarball(evil('data.db', { type: '1', link: '/etc/passwd', body: '' })), /is not a file/],
  ['a device', tarball(evil('data.db', { type: '3', body: '' })), /is not a file/],
  ['a folder', tarball(evil('data.db', { type: '5', body: '' })), /is not a file/],
  ['a part twice', tarball([manifest(), data, data]), /twice/],
  ['a further part', tarball([manifest(), data, { path: 'more', body: 'x' }]), /not in its manifest/],
  ['other bytes', tarball([manifest(), { path: 'data.db', body: 'not a databose' }]), /hash differs/],
  [
    'more bytes',
    tarball([manifest(), { path: 'data.db', body: 'not a database!' }]),
    /15 bytes instead of 14/,
  ],
  ['a part missing', tarball([manifest()]), /missing/],
  [
    'more than there is room for',
    tarball([manifest({ parts: { 'data.db': { bytes: 2 ** 52, sha256: sha256('') } } })]),
    /are free/,
  ],
  [
    'a lock that is too large',
    tarball([
      manifest({
        kind: 'application',
        parts: {
          'data.db': part(DATA),
          'app.config.json': part('{}'),
          'modules.lock.json': { bytes: 2 ** 30, sha256: sha256('') },
        },
      }),
    ]),
    /too large/,
  ],
  [
    'a manifest that is too large',
    tarball([{ path: 'manifest.json', body: ' '.repeat(70_000) }]),
    /manifest is too large/,
  ],
  ['cut off', whole.subarray(0, whole.length - 12), /./],
  ['cut off within the tarball', gzipSync(gunzipSync(whole).subarray(0, 1600)), /./],
]

for (const [what, archive, message] of hostile) {
  t.test(`refused: ${what}`, async (t) => {
    const { folder, result } = await read(t, archive)
    await t.rejects(result, { name: 'Failure', exitCode: 4, code: 'bad-archive', message })
    for (const name of await readdir(folder)) t.match(name, /^data\.db$/, 'nothing else came out')
  })
}

t.test('a refused archive does not change the application', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('backup', join(root, 'good.tgz'))
  const schema = await runWithoutHost(directory, 'schema')
  for (const [index, [what, archive]] of [...hostile, ['no database', whole] as const].entries()) {
    const file = join(root, `${index}.tgz`)
    await writeFile(file, archive)
    t.match(await run('restore', file), { exitCode: 4, json: { error: { code: 'bad-archive' } } }, what)
  }
  t.match(await run('restore', join(root, 'absent.tgz')), { exitCode: 3 })
  t.equal((await readLockFile(directory)).generation, 0)
  t.strictSame(await runWithoutHost(directory, 'schema'), schema)
  t.strictSame(await readdir(join(directory, '.app', 'store')), [])
})
