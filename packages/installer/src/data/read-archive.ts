import { createHash, type Hash } from 'node:crypto'
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Parser, type ReadEntry } from 'tar'
import { archiveIsBundle, badArchive, noArchive } from '../failures/index.ts'
import { isBundle } from '../store/bundle-file.ts'
import { type ArchiveManifest, MANIFEST, parseManifest } from './archive-manifest.ts'

const LARGEST_MANIFEST = 64 * 1024
/** Every part but the database is small: the lock file of a thousand modules takes 30 MB. */
const LARGEST_TEXT = 64 * 1024 * 1024
/** The header and the padding of an entry, or what follows the last one: at most, in bytes. */
const AROUND = 64 * 1024

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
  let failure: Error | undefined
  const fail = (error: Error) => {
    failure ??= error
  }
  parser.on('entry', (entry: ReadEntry) => {
    try {
      if (failure === undefined) return reader.take(entry, fail)
    } catch (error) {
      fail(error as Error)
    }
    entry.resume()
  })
  parser.on('ignoredEntry', (entry: ReadEntry) => fail(new Error(`"${entry.path}" has an unknown type`)))
  parser.on('error', fail)
  // The parser takes what it is given synchronously.
  const take = async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      reader.count(chunk)
      parser.write(chunk)
      if (failure !== undefined) throw failure
    }
    parser.end()
    if (failure !== undefined) throw failure
  }
  try {
    await pipeline(createReadStream(file), createGunzip(), take)
    return reader.finish()
  } catch (error) {
    throw badArchive({ file, reason: (error as Error).message, cause: error })
  } finally {
    reader.close()
  }
}

class Reader {
  readonly #folder: string
  readonly #room: number
  readonly #taken = new Set<string>()
  /** How many bytes the tarball may have further, by its manifest. */
  #left = LARGEST_MANIFEST + AROUND
  #manifest: ArchiveManifest | undefined
  #open: number | undefined

  constructor(folder: string, room: number) {
    this.#folder = folder
    this.#room = room
  }

  /** @throws {Error} if there is more than the manifest says: a few bytes can unpack to endless zeros */
  count(chunk: Buffer): void {
    if (chunk[0] === 0x1f && chunk[1] === 0x8b && this.#manifest === undefined)
      throw new Error('it is compressed twice')
    this.#left -= chunk.length
    if (this.#left < 0) throw new Error('it has more bytes than its manifest says')
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
      this.#left += bytes + AROUND
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
