import { gzipSync } from 'node:zlib'

export interface Entry {
  readonly path: string
  readonly body?: string | Buffer
  /** POSIX typeflag: 0 file, 1 hard link, 2 symbolic link, 3 device, 5 folder, g global header. */
  readonly type?: string
  readonly mode?: number
  readonly link?: string
  /** What the header says instead of the body's length. */
  readonly size?: number
}

/** A gzipped tarball, byte by byte: it may hold what no honest program packs. */
export function tarball(entries: readonly Entry[]): Buffer {
  return gzipSync(Buffer.concat([...entries.map(entryBlocks), Buffer.alloc(1024)]))
}

/** A pax header that says something else of the entry after it: `path`, `size`, `linkpath`. */
export function pax(records: Readonly<Record<string, string>>, type: 'x' | 'g' = 'x'): Entry {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`)
    const digits = String(rest + String(rest + 2).length).length
    return `${rest + digits} ${key}=${value}\n`
  })
  return { path: 'PaxHeader', type, body: lines.join('') }
}

/** A tarball as npm packs it: files below `package/`. */
export function packed(files: Readonly<Record<string, string>>): Buffer {
  return tarball(Object.entries(files).map(([path, body]) => ({ path: `package/${path}`, body })))
}

/** The header and the body of one entry. */
export function entryBlocks({ path, body = '', type = '0', mode = 0o644, link = '', size }: Entry): Buffer {
  const data = Buffer.from(body)
  const header = Buffer.alloc(512)
  header.write(path, 0)
  header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
  header.write('0000000\u00000000000\0', 108)
  header.write(`${(size ?? data.length).toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, data, Buffer.alloc((512 - (data.length % 512)) % 512)])
}
