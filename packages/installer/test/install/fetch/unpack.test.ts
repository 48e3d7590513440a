import fs from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { unpack } from '../../../src/install/fetch/unpack.ts'
import { type Entry, packed, tarball } from '../../tarball.ts'

const file = (path: string, more: Partial<Entry> = {}): Entry => ({
  path: `package/${path}`,
  body: 'x',
  ...more,
})

t.test('unpacking strips the first path component and counts the bytes', async (t) => {
  const directory = t.testdir({})
  const bytes = await unpack(packed({ 'package.json': '{}', 'src/deep/a.js': 'abc' }), directory, 'it')
  t.equal(bytes, 5)
  t.equal(await readFile(join(directory, 'src/deep/a.js'), 'utf8'), 'abc')
})

t.test('a tarball of the folder itself unpacks, too', async (t) => {
  const directory = t.testdir({})
  const folder = { path: './', body: '', type: '5' }
  const files = [folder, { path: './package.json', body: '{}' }, { path: './src/a.js', body: 'abc' }]
  t.equal(await unpack(tarball(files), directory, 'it'), 5)
  t.strictSame((await readdir(directory)).sort(), ['package.json', 'src'])
  const twice = [...files, { path: 'package/package.json', body: '[]' }]
  await t.rejects(unpack(tarball(twice), t.testdir({}), 'it'), { message: /occurs twice/ })
})

t.test('a file larger than a chunk of the tarball is complete', async (t) => {
  const directory = t.testdir({})
  const body = Buffer.alloc(3_000_000, 'abcdefg')
  await unpack(tarball([file('big', { body }), file('after')]), directory, 'it')
  t.ok((await readFile(join(directory, 'big'))).equals(body))
  t.equal(await readFile(join(directory, 'after'), 'utf8'), 'x')
})

t.test('an empty file stays empty, with its mode', async (t) => {
  const directory = t.testdir({})
  await unpack(tarball([file('empty', { body: '', mode: 0o755 }), file('after')]), directory, 'it')
  const { size, mode } = await stat(join(directory, 'empty'))
  t.strictSame([size, mode & 0o7777], [0, 0o755])
})

t.test('modes are 0644 and 0755, without the sticky bit', async (t) => {
  const directory = t.testdir({})
  const entries = [
    file('plain', { mode: 0o600 }),
    file('tool', { mode: 0o711 }),
    file('open', { mode: 0o1666 }),
  ]
  await unpack(tarball(entries), directory, 'it')
  const modeOf = async (name: string) => (await stat(join(directory, name))).mode & 0o7777
  t.equal(await modeOf('plain'), 0o644)
  t.equal(await modeOf('tool'), 0o755)
  t.equal(await modeOf('open'), 0o644)
})

const refused: Readonly<Record<string, [entries: readonly Entry[], reason: RegExp]>> = {
  'a symbolic link': [
    [file('a', { type: '2', link: '/etc/passwd', body: '' })],
    /neither a file nor a folder \(SymbolicLink\)/,
  ],
  'a hard link': [[file('a'), file('b', { type: '1', link: 'package/a', body: '' })], /\(Link\)/],
  'a character device': [[file('a', { type: '3', body: '' })], /\(CharacterDevice\)/],
  'a block device': [[file('a', { type: '4', body: '' })], /\(BlockDevice\)/],
  'a pipe': [[file('a', { type: '6', body: '' })], /\(FIFO\)/],
  'an unknown kind': [[file('a', { type: 'Q', body: '' })], /unknown type/],
  'an absolute path': [[{ path: '/etc/cron.d/x', body: 'x' }], /absolute path/],
  'a path of a drive': [[{ path: 'c:/x', body: 'x' }], /absolute path/],
  'a path upwards': [[file('../../x')], /leads out of the package/],
  'a path upwards that stays inside': [[file('a/../b')], /leads out of the package/],
  'a backslash': [[file('..\\x')], /backslash/],
  'a control character': [[file('a\nb')], /control character/],
  'an empty component': [[file('a//b')], /empty component/],
  'a dot inside the path': [[file('a/./b')], /empty component/],
  'a file beside the folder of the package': [[{ path: 'loose', body: 'x' }], /outside the folder/],
  'a setuid file': [[file('a', { mode: 0o4755 })], /setuid or setgid/],
  'a setgid file': [[file('a', { mode: 0o2755 })], /setuid or setgid/],
  'a path twice': [[file('a'), file('a')], /occurs twice/],
  'a file that is a folder': [[file('a', { type: '5', body: '' }), file('a')], /occurs twice/],
  'a file below a file': [[file('a'), file('a/b')], /below a file/],
  'paths that differ in case': [[file('Readme'), file('README')], /in case only/],
  'folders that differ in case': [[file('Lib/a'), file('lib/b')], /in case only/],
  'paths that differ in composition': [[file('caf\u00e9'), file('cafe\u0301')], /in case only/],
}

for (const [name, [entries, reason]] of Object.entries(refused)) {
  t.test(`${name} is refused`, async (t) => {
    const error = { exitCode: 4, code: 'unsafe-package', message: reason }
    await t.rejects(unpack(tarball([file('package.json'), ...entries]), t.testdir({}), 'it'), error)
  })
}

t.test('nothing is written outside the folder', async (t) => {
  const directory = t.testdir({ inside: {} })
  await t.rejects(unpack(tarball([file('../../outside'), file('fine')]), join(directory, 'inside'), 'it'))
  t.strictSame(await readdir(directory), ['inside'])
})

t.test('a file that is not a gzipped tarball is refused', async (t) => {
  const error = { exitCode: 4, code: 'unsafe-package' }
  await t.rejects(unpack(Buffer.from('PK zip'), t.testdir({}), 'it'), error)
  await t.rejects(unpack(gzipSync('not a tarball'), t.testdir({}), 'it'), error)
  const cut = packed({ 'package.json': '{}' }).subarray(0, 60)
  await t.rejects(unpack(cut, t.testdir({}), 'it'), error)
})

t.test('too many entries and too many bytes are refused before they are written', async (t) => {
  const three = tarball([file('a'), file('b'), file('c')])
  const most = { entries: 3, unpackedBytes: 3 }
  await t.resolves(unpack(three, t.testdir({}), 'it', most as never))
  await t.rejects(unpack(three, t.testdir({}), 'it', { ...most, entries: 2 } as never), {
    message: /more than 2 entries/,
  })
  await t.rejects(unpack(three, t.testdir({}), 'it', { ...most, unpackedBytes: 2 } as never), {
    message: /larger than/,
  })
})

t.test('a header with a too large size is refused without reading its bytes', async (t) => {
  const bomb = tarball([file('bomb', { size: 8 ** 10 })])
  const directory = t.testdir({})
  await t.rejects(unpack(bomb, directory, 'it'), { message: /larger than 256 MiB/ })
  t.strictSame(await readdir(directory), [])
})

t.test('a failing disk is not reported as an unsafe package', async (t) => {
  const { restore } = t.intercept(fs, 'writeSync', {
    value() {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    },
  })
  syncBuiltinESMExports()
  t.teardown(() => {
    restore()
    syncBuiltinESMExports()
  })
  const directory = t.testdir({})
  await t.rejects(unpack(tarball([file('package.json')]), directory, 'it'), {
    code: 'ENOSPC',
    path: join(directory, 'package.json'),
  })
})
