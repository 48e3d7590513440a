import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'

/**
 * SHA-512 (SRI) over every file below `directory`: its path, whether it is executable, and its bytes, in the
 * order of the paths' UTF-16 units. Two trees with one hash hold the same files.
 *
 * @throws {Error} for anything that is neither file nor folder: a store holds no links
 */
export async function hashTree(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files: string[] = []
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) files.push(path)
    else if (!entry.isDirectory()) throw new Error(`${path} is neither a file nor a folder`)
  }
  const names = new Map(files.map((file) => [relative(directory, file).split(sep).join('/'), file]))
  const tree = createHash('sha512')
  for (const name of [...names.keys()].sort()) {
    const file = names.get(name) as string
    const executable = ((await stat(file)).mode & 0o111) !== 0
    tree.update(JSON.stringify([name, executable, await hashFile(file)]))
  }
  return `sha512-${tree.digest('base64')}`
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha512')
  await pipeline(createReadStream(file), hash)
  return hash.digest('base64')
}
