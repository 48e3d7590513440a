import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Host } from '../../harness/app-command.ts'
import { isFolder, type Tree } from './disk.ts'

/**
 * Starts the application after the loss, and reads every purchase with the earlier tokens.
 * @returns the failures
 */
export async function checkApplication(
  tree: Tree,
  tokens: readonly string[],
  acknowledged: readonly string[],
  scratch: string,
): Promise<string[]> {
  const folder = await mkdtemp(join(scratch, 'started-'))
  let host: Host | undefined
  try {
    await writeTree(tree, folder)
    host = await Host.start(folder)
    const ids = (await Promise.all(tokens.map((token) => idsOf(host?.port, token)))).flat()
    const lost = acknowledged.filter((id) => ids.filter((each) => each === id).length !== 1)
    return lost.length === 0 ? [] : [`${lost.length} acknowledged purchases are not listed once`]
  } catch (error) {
    return [`it does not start: ${(error as Error).message}`]
  } finally {
    await host?.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeTree(tree: Tree, folder: string): Promise<void> {
  for (const [path, entry] of tree) {
    const place = join(folder, path)
    await mkdir(isFolder(entry) ? place : dirname(place), { recursive: true, mode: 0o700 })
    if (Buffer.isBuffer(entry)) await writeFile(place, entry, { mode: 0o600 })
    else if (!isFolder(entry)) await symlink(entry.target, place)
  }
}

/** The ids of all purchases of a caller. @throws {Error} if the token is refused */
async function idsOf(port: number | undefined, token: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}` }
  const ids: string[] = []
  for (let page = 1; ; page += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/purchase?rpp=100&page=${page}`, { headers })
    if (response.status !== 200) throw new Error(`an earlier token gets ${response.status}`)
    const { data, pages } = (await response.json()) as { data: { id: string }[]; pages: number }
    ids.push(...data.map(({ id }) => id))
    if (page >= pages) return ids
  }
}
