import { chmodSync, closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Parser, type ReadEntry } from 'tar'
import { Failure, unsafePackage } from '../../failures/index.ts'

/** The size limit of a package's tarball, in bytes. */
export const largestTarball = 64 * 1024 * 1024

/** The limits of one package: tarball entries, files and folders on the disk, and their bytes. */
export const limits = { entries: 20_000, unpackedBytes: 256 * 1024 * 1024 }

/** Limits that every file system and every tool that reads the store can handle. */
const longest = { component: 255, path: 1024, depth: 64 } // bytes of UTF-8; folders

/**
 * Unpacks the tarball of a package into the empty folder `directory`, without the first path
 * component. It creates only files and folders, with modes 0644 and 0755, at paths inside. It
 * rejects any other entry instead of skipping it. After a failure, delete `directory`.
 * @returns the bytes of the files
 * @throws {Failure} `unsafe-package`
 */
export async function unpack(data: Buffer, directory: string, what: string, most = limits): Promise<number> {
  if (data[0] !== 0x1f || data[1] !== 0x8b) throw unsafe(what, 'it is not a gzipped tarball')
  const paths = new Paths()
  let entries = 0
  let bytes = 0

  function count(size: number): void {
    entries += 1
    bytes += size
    if (entries > most.entries) throw tooMany()
    if (bytes > most.unpackedBytes) {
      throw unsafe(what, `its unpacked files are larger than ${most.unpackedBytes / 1024 / 1024} MiB`)
    }
  }

  const tooMany = () => unsafe(what, `it has more than ${most.entries} entries`)

  function take(entry: ReadEntry): void {
    count(entry.size)
    const folder = entry.type === 'Directory'
    if (!folder && entry.type !== 'File' && entry.type !== 'OldFile') {
      throw unsafe(what, `"${printable(entry.path)}" is neither a file nor a folder (${entry.type})`)
    }
    if (!folder && ((entry.mode ?? 0) & 0o6000) !== 0) {
      throw unsafe(what, `"${printable(entry.path)}" is setuid or setgid`)
    }
    const parts = partsOf(entry.path)
    const reason = typeof parts === 'string' ? parts : paths.add(parts, folder)
    if (reason !== undefined) throw unsafe(what, `"${printable(entry.path)}" ${reason}`)
    if (paths.size > most.entries) throw tooMany()
    const path = join(directory, ...(parts as string[]))
    if (folder) {
      mkdirSync(path, { recursive: true, mode: 0o755 })
      entry.resume()
    } else writeFile(path, entry)
  }

  await new Promise<void>((resolve, reject) => {
    const parser = new Parser({ strict: true })
    let failed = false
    const fail = (error: Error) => {
      failed = true
      const isOwn = error instanceof Failure || ofTheDisk.has((error as NodeJS.ErrnoException).code ?? '')
      reject(isOwn ? error : unsafe(what, error.message, error))
    }
    const guarded = (handle: (entry: ReadEntry) => void) => (entry: ReadEntry) => {
      if (failed) return entry.resume()
      try {
        handle(entry)
      } catch (error) {
        fail(error as Error)
        entry.resume()
      }
    }
    parser.on('entry', guarded(take))
    parser.on(
      'ignoredEntry',
      guarded((entry) => {
        const path = printable(entry.path)
        throw unsafe(what, entry.meta ? `the header "${path}" is too large` : `"${path}" has an unknown type`)
      }),
    )
    parser.on('meta', (text: string) => {
      try {
        if (!failed) count(Buffer.byteLength(text))
        if (/\0[^\0]/.test(text)) throw unsafe(what, 'a header contains NUL')
      } catch (error) {
        fail(error as Error)
      }
    })
    parser.on('error', fail)
    parser.on('end', () => resolve())
    // Data after the end of the archive do not belong to it, and may be endless zeros.
    let ended = false
    parser.on('eof', () => {
      ended = true
      resolve()
    })
    // In slices, to detect a bomb before it is unpacked completely.
    for (let at = 0; at < data.length && !failed && !ended; at += 65_536) {
      parser.write(data.subarray(at, at + 65_536))
    }
    if (!failed && !ended) parser.end()
  })
  return bytes
}

/** These errors say nothing about the package. */
const ofTheDisk = new Set(['EIO', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EMFILE', 'ENFILE'])

/** Writes bytes as they arrive. tar delivers them synchronously. */
function writeFile(path: string, entry: ReadEntry): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  const file = openSync(path, 'wx', 0o644)
  entry.on('data', (chunk) => {
    try {
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
    } catch (error) {
      throw Object.assign(error as Error, { path })
    }
  })
  entry.on('end', () => {
    closeSync(file)
    if (((entry.mode ?? 0) & 0o111) !== 0) chmodSync(path, 0o755)
  })
}

/** The path without its first component, or the reason to reject it. */
function partsOf(path: string): string[] | string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return 'has a control character or a backslash in its path'
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'has an absolute path'
  const parts = path.replace(/\/$/, '').split('/')
  if (parts.includes('..')) return 'leads out of the package'
  // `tar czf package.tgz .` begins each path with a dot.
  if (parts.some((part, index) => part === '' || (part === '.' && index > 0)))
    return 'has an empty component in its path'
  if (Buffer.byteLength(path) > longest.path) return `has a path of more than ${longest.path} bytes`
  if (parts.some((part) => Buffer.byteLength(part) > longest.component)) {
    return `has a name of more than ${longest.component} bytes in its path`
  }
  if (parts.length > longest.depth) return `lies more than ${longest.depth} folders deep`
  return parts.slice(1)
}

/** The unpacked paths. Each may occur only once, ignoring case, as some file systems do. */
class Paths {
  readonly #spelled = new Map<string, string>()
  readonly #files = new Set<string>()

  get size(): number {
    return this.#spelled.size
  }

  /** @returns the reason to reject the path */
  add(parts: readonly string[], folder: boolean): string | undefined {
    if (parts.length === 0) return folder ? undefined : 'lies outside the folder of the package'
    for (let depth = 1; depth <= parts.length; depth++) {
      const path = parts.slice(0, depth).join('/')
      const folded = path.normalize('NFC').toLowerCase()
      const previous = this.#spelled.get(folded)
      if (previous !== undefined && previous !== path) return `differs from "${previous}" in case only`
      if (this.#files.has(path)) return depth === parts.length ? 'occurs twice' : 'lies below a file'
      if (depth === parts.length && !folder) {
        if (previous !== undefined) return 'occurs twice'
        this.#files.add(path)
      }
      this.#spelled.set(folded, path)
    }
    return undefined
  }
}

function printable(path: string): string {
  const text = JSON.stringify(path).slice(1, -1)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function unsafe(what: string, reason: string, cause?: Error): Failure {
  return unsafePackage({ target: what, reason, ...(cause ? { cause } : {}) })
}
