import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** Files read at a time: more is no faster, since Node has four threads for it. */
const atATime = 8

/** A larger file, in bytes, is read in pieces: eight whole ones would take much memory. */
const readWhole = 1024 * 1024

/**
 * SHA-512 (SRI) over every file below `directory`: its path, whether it is executable, and its
 * bytes, in the order of the paths' UTF-16 units. Two trees with the same hash hold the same files.
 *
 * @throws {Error} for anything but files and folders: a store holds no links
 */
export async function hashTree(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = new Map<string, string>()
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) files.set(relative(directory, path).split(sep).join('/'), path)
    else if (!entry.isDirectory()) throw new Error(`${path} is neither a file nor a folder`)
  }
  const names = [...files.keys()].sort()
  const described = await inTurns(names, (name) => describeFile(name, files.get(name) as string))
  const tree = createHash('sha512')
  for (const text of described) tree.update(text)
  return `sha512-${tree.digest('base64')}`
}

async function describeFile(name: string, file: string): Promise<string> {
  const { mode, size } = await stat(file)
  const hash = createHash('sha512')
  if (size > readWhole) await pipeline(createReadStream(file), hash)
  else hash.update(await readFile(file))
  return JSON.stringify([name, (mode & 0o111) !== 0, hash.digest('base64')])
}

/** A few at a time; the results are in the order of the items. */
async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const rest = items.entries()
  const worker = async () => {
    for (const [index, item] of rest) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: atATime }, worker))
  return results
}
