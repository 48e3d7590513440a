import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sampleFiles } from '../../../packages/installer/test/sample-module.ts'
import { type Entry, entryBlocks, packed, pax, tarball } from '../../../packages/installer/test/tarball.ts'
import type { Corpus, Hostile, Lab } from './hostile.ts'

// Tarballs that hold a module which would work, and something that no honest program packs.

const unsafe = (message: RegExp, entries: (lab: Lab) => readonly Entry[]): Hostile => ({
  code: 'unsafe-package',
  message,
  async spec(lab) {
    const honest = Object.entries(sampleFiles({ main: lab.canary }))
    const files = honest.map(([path, body]): Entry => ({ path: `package/${path}`, body }))
    return await written(lab, tarball([...files, ...entries(lab)]))
  },
})

const bytes = (message: RegExp, make: (honest: Buffer) => Buffer): Hostile => ({
  code: 'unsafe-package',
  message,
  spec: async (lab) => await written(lab, make(packed(sampleFiles({ main: lab.canary })))),
})

async function written({ folder }: Lab, data: Buffer): Promise<string> {
  const file = join(folder, 'hostile-1.0.0.tgz')
  await writeFile(file, data)
  return file
}

const file = (path: string, more: Partial<Entry> = {}): Entry => ({
  path: `package/${path}`,
  body: 'x',
  ...more,
})
const long = (path: string): Entry[] => [pax({ path: `package/${path}` }), file('short')]
const special = (type: string, link = ''): Entry[] => [file('special', { type, link, body: '' })]

const noise = Buffer.alloc(60 * 1024 * 1024, 'no zeros, so that the ratio is an honest one: 0123456789')

export const hostileTarballs: Corpus = {
  'a path upwards': unsafe(/leads out of the package/, () => [file('../../escape')]),
  'a path upwards that comes back': unsafe(/leads out of the package/, () => [file('a/../../package/b')]),
  'an absolute path': unsafe(/absolute path/, () => [{ path: join(tmpdir(), 'escape'), body: 'x' }]),
  'a path with a backslash': unsafe(/backslash/, () => [file('..\\..\\escape')]),
  'a path of a drive': unsafe(/absolute path/, () => [{ path: 'C:/escape', body: 'x' }]),
  'a path with NUL': unsafe(/header contains NUL/, () => long('safe\0/../../escape')),
  'a path with a line break': unsafe(/control character/, () => [file('a\nInstalled: all is well')]),
  'a path that is too long': unsafe(/more than 1024 bytes/, () => long('abcdefg/'.repeat(140))),
  'a name that is too long': unsafe(/more than 255 bytes/, () => long('n'.repeat(300))),
  'folders without end': unsafe(/more than 64 folders deep/, () => long(`${'d/'.repeat(200)}end`)),
  'a path upwards in a pax header': unsafe(/leads out of the package/, () => long('../../escape')),
  'a path upwards in a GNU long name': unsafe(/leads out of the package/, () => [
    { path: '././@LongLink', type: 'L', body: 'package/../../escape\0' },
    file('short'),
  ]),
  'a link in a GNU long link': unsafe(/neither a file nor a folder/, () => [
    { path: '././@LongLink', type: 'K', body: '/etc/passwd\0' },
    file('link', { type: '2', link: 'short', body: '' }),
  ]),
  'a size in a pax header that hides an entry': unsafe(/leads out of the package/, () => [
    pax({ size: '0' }),
    file('cover', { body: entryBlocks(file('../../escape')) }),
  ]),
  'a pax header without end': unsafe(/header .* too large|larger than/, () => [
    { path: 'PaxHeader', type: 'x', body: Buffer.alloc(8 * 1024 * 1024, 'x') },
    file('short'),
  ]),
  'a symbolic link out': unsafe(/neither a file nor a folder \(SymbolicLink\)/, () =>
    special('2', '/etc/passwd'),
  ),
  'a symbolic link to write through': unsafe(/neither a file nor a folder \(SymbolicLink\)/, () => [
    file('lib', { type: '2', link: '../../..', body: '' }),
    file('lib/escape'),
  ]),
  'a hard link out': unsafe(/neither a file nor a folder \(Link\)/, () => special('1', '/etc/passwd')),
  'a hard link to a file of its own': unsafe(/\(Link\)/, () => special('1', 'package/package.json')),
  'a character device': unsafe(/\(CharacterDevice\)/, () => special('3')),
  'a block device': unsafe(/\(BlockDevice\)/, () => special('4')),
  'a pipe': unsafe(/\(FIFO\)/, () => special('6')),
  'an entry of an unknown kind': unsafe(/unknown type/, () => special('Q')),
  'a setuid file': unsafe(/setuid or setgid/, () => [file('tool', { mode: 0o4755 })]),
  'a setgid file': unsafe(/setuid or setgid/, () => [file('tool', { mode: 0o2755 })]),
  'a file twice': unsafe(/occurs twice/, () => [file('index.js', { body: 'other' })]),
  'package.json twice': unsafe(/occurs twice/, () => [file('package.json', { body: '{}' })]),
  'names that differ in case': unsafe(/in case only/, () => [file('INDEX.js')]),
  'names that differ in composition': unsafe(/in case only/, () => [file('caf\u00e9'), file('cafe\u0301')]),
  'a file below a file': unsafe(/below a file/, () => [file('index.js/more')]),
  'a file beside the package': unsafe(/outside the folder/, () => [{ path: 'loose', body: 'x' }]),
  'an entry that announces a terabyte': unsafe(/larger than 256 MiB/, () => [
    file('bomb', { size: 8 ** 10 }),
  ]),
  'a hundred thousand entries': unsafe(/more than 20000 entries/, () =>
    Array.from({ length: 100_000 }, (_, index) => file(`f/${index}`, { body: '' })),
  ),
  'a hundred thousand folders in few entries': unsafe(/more than 20000 entries/, () =>
    Array.from({ length: 2000 }, (_, index) => long(`${index}/${'d/'.repeat(50)}end`)).flat(),
  ),
  'zeros, a thousand to one': unsafe(/ratio/, () => [
    file('zeros', { body: Buffer.alloc(200 * 1024 * 1024) }),
  ]),
  'many files that are too much together': unsafe(/larger than 256 MiB/, () =>
    Array.from({ length: 5 }, (_, index) => file(`noise/${index}`, { size: 60 * 1024 * 1024, body: noise })),
  ),
  'node_modules/.bin': unsafe(/node_modules\/\.bin/, () => [file('node_modules/.bin/node', { mode: 0o755 })]),
  'a copy of what the host provides': unsafe(/its own @mortise\/module-sdk, which the host provides/, () => [
    file('node_modules/@mortise/module-sdk/package.json', { body: '{"name":"@mortise/module-sdk"}' }),
    file('node_modules/@mortise/module-sdk/index.js'),
  ]),
  'a truncated file': bytes(/unexpected end|[Tt]runcated/, (honest) =>
    honest.subarray(0, honest.length - 40),
  ),
  'bytes that are no gzip': bytes(/not a gzipped tarball/, (honest) =>
    Buffer.concat([Buffer.from('#!'), honest]),
  ),
  'gzip that holds no tarball': bytes(/Unrecognized|checksum/, () =>
    gzipSync(Buffer.alloc(2048, 'no tarball')),
  ),
}
