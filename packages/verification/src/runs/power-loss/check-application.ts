import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type App, startHost } from '../../harness/app.ts'
import { bearer, Caller } from '../../harness/caller.ts'
import type { Round } from '../../harness/round.ts'
import { isFolder, type Tree } from './disk.ts'

/**
 * Starts the application after the loss, and reads every purchase with the earlier tokens.
 * @returns the failures
 */
export async function checkApplication(
  { agent, folder: scratch }: Round,
  tree: Tree,
  tokens: readonly string[],
  acknowledged: readonly string[],
): Promise<string[]> {
  const folder = await mkdtemp(join(scratch, 'started-'))
  let host: App | undefined
  try {
    await writeTree(tree, folder)
    host = await startHost(folder)
    const { url } = host
    const callers = tokens.map((token) => new Caller(agent, () => url, bearer(token)))
    const lists = await Promise.all(callers.map((caller) => caller.list<{ id: string }>('/purchase?rpp=100')))
    const ids = lists.flat().map(({ id }) => id)
    const lost = acknowledged.filter((id) => ids.filter((each) => each === id).length !== 1)
    return lost.length === 0 ? [] : [`${lost.length} acknowledged purchases are not listed once`]
  } catch (error) {
    return [(error as Error).message]
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
