import { createHash, type Hash } from 'node:crypto'
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Parser, type ReadEntry } from 'tar'
import { archiveIsBundle, badArchive, noArchive } from '../failures/index.ts'
import { isBundle } from '../store/bundle-file.ts'
import { type ArchiveManifest, MANIFEST, parseManifest } from './archive-manifest.ts'

const LARGEST_MANIFEST = 64 * 1024
/** Every part but the database is small: the lock file of a thousand modules takes 30 MB. */
const LARGEST_TEXT = 64 * 1024 * 1024

/**
 * Unpacks an archive into the empty `folder`, and checks each part against the manifest, which
 * comes first. It unpacks only the parts that the manifest names. After a failure, delete the
 * folder.
 * @throws {Failure} not found (3), or not a complete and unchanged archive (4)
 */
export async function readArchive(file: string, folder: string): Promise<ArchiveManifest> {
  await assertGzip(file)
  if (await isBundle(file)) throw archiveIsBundle({ file })
  const { bavail, bsize } = await statfs(folder)
  const reader = new Reader(folder, bavail * bsize)
  const parser = new Parser({ strict: true })
  const stream = createReadStream(file)
  try {
    await new Promise<void>((resolve, reject) => {
      let failed = false
      const fail = (error: Error) => {
        failed = true
        reject(error)
      }
      parser.on('entry', (entry: ReadEntry) => {
        if (failed) return entry.resume()
        try {
          reader.take(entry, fail)
        } catch (error) {
          fail(error as Error)
          entry.resume()
        }
      })
      parser.on('ignoredEntry', (entry: ReadEntry) => fail(new Error(`"${entry.path}" has an unknown type`)))
      parser.on('error', fail)
      parser.on('end', resolve)
      stream.on('error', fail)
      stream.pipe(parser)
    })
    return reader.finish()
  } catch (error) {
    throw badArchive({ file, reason: (error as Error).message, cause: error })
  } finally {
    stream.destroy()
    reader.close()
  }
}

class Reader {
  readonly #folder: string
  readonly #room: number
  readonly #taken = new Set<string>()
  #manifest: ArchiveManifest | undefined
  #open: number | undefined

  constructor(folder: string, room: number) {
    this.#folder = folder
    this.#room = room
  }

  take(entry: ReadEntry, fail: (error: Error) => void): void {
    const { path, type, size } = entry
    if (type !== 'File' && type !== 'OldFile') throw new Error(`"${path}" is not a file (${type})`)
    if (this.#manifest === undefined) this.#takeManifest(entry, fail)
    else {
      const part = Object.hasOwn(this.#manifest.parts, path) ? this.#manifest.parts[path] : undefined
      if (part === undefined) throw new Error(`"${path}" is not in its manifest`)
      if (this.#taken.has(path)) throw new Error(`it contains "${path}" twice`)
      if (size !== part.bytes) throw new Error(`"${path}" has ${size} bytes instead of ${part.bytes}`)
      this.#taken.add(path)
      this.#write(entry, part.sha256, fail)
    }
  }

  /** @throws {Error} if a part is missing */
  finish(): ArchiveManifest {
    if (this.#manifest === undefined) throw new Error('it is empty')
    const missing = Object.keys(this.#manifest.parts).find((name) => !this.#taken.has(name))
    if (missing !== undefined) throw new Error(`it is incomplete: "${missing}" is missing`)
    return this.#manifest
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open)
    this.#open = undefined
  }

  #takeManifest(entry: ReadEntry, fail: (error: Error) => void): void {
    if (entry.path !== MANIFEST) throw new Error(`it begins with "${entry.path}" instead of ${MANIFEST}`)
    if (entry.size > LARGEST_MANIFEST) throw new Error('its manifest is too large')
    const chunks: Buffer[] = []
    entry.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    entry.on('end', () => {
      try {
        this.#manifest = parseManifest(Buffer.concat(chunks).toString('utf8'))
        this.#assertRoom(this.#manifest)
      } catch (error) {
        fail(error as Error)
      }
    })
  }

  #assertRoom({ parts }: ArchiveManifest): void {
    let total = 0
    for (const [name, { bytes }] of Object.entries(parts)) {
      if (!name.endsWith('.db') && bytes > LARGEST_TEXT)
        throw new Error(`"${name}" is too large: ${bytes} bytes`)
      total += bytes
    }
    if (total > this.#room) throw new Error(`it needs ${total} bytes on the disk, and ${this.#room} are free`)
  }

  #write(entry: ReadEntry, sha256: string, fail: (error: Error) => void): void {
    const hash: Hash = createHash('sha256')
    const file = openSync(join(this.#folder, entry.path), 'wx', 0o600)
    this.#open = file
    entry.on('data', (chunk) => {
      if (this.#open !== file) return
      try {
        hash.update(chunk)
        for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
      } catch (error) {
        fail(error as Error)
      }
    })
    entry.on('end', () => {
      if (this.#open !== file) return
      this.close()
      if (hash.digest('hex') !== sha256) fail(new Error(`"${entry.path}" was altered: its hash differs`))
    })
  }
}

async function assertGzip(file: string): Promise<void> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message
    throw noArchive({ file, reason })
  })
  try {
    const start = Buffer.alloc(2)
    await handle.read(start, 0, 2, 0).catch(() => {})
    if (start[0] !== 0x1f || start[1] !== 0x8b)
      throw badArchive({ file, reason: 'it is not a gzipped tarball' })
  } finally {
    await handle.close()
  }
}
