import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, readJsonFile, writeDurably } from '@mortise/storage'

// Which module ended the host, and when: a file for each end in `.app/ends`, written by the thread that
// ends it. The next start counts them.

export interface ModuleEnd {
  readonly module: string
  /** The name of its folder in the store: another version has another one. */
  readonly folder: string
  /** A sentence. */
  readonly reason: string
  /** In epoch milliseconds, on the clock of this machine. */
  readonly at: number
}

const folderOf = (directory: string) => join(directory, '.app', 'ends')

/** Durable when it resolves. */
export async function noteEnd(directory: string, end: Omit<ModuleEnd, 'at'>): Promise<void> {
  const folder = folderOf(directory)
  await makeFolder(folder, 0o700)
  const at = Date.now()
  await writeDurably(join(folder, `${at}-${process.pid}.json`), JSON.stringify({ ...end, at }))
}

/** Oldest first. Removes those that `isOver` and what is unreadable. */
export async function readEnds(
  directory: string,
  isOver: (end: ModuleEnd) => boolean = () => false,
): Promise<ModuleEnd[]> {
  const folder = folderOf(directory)
  const names = await readdir(folder).catch(() => [])
  const ends: ModuleEnd[] = []
  for (const name of names.filter((name) => name.endsWith('.json')).sort()) {
    const file = join(folder, name)
    const end = await readJsonFile(file, isEnd).catch(() => undefined)
    if (end === undefined || isOver(end)) await rm(file, { force: true })
    else ends.push(end)
  }
  return ends
}

/** Those of these modules count no longer. */
export async function forgetEnds(directory: string, modules: readonly string[]): Promise<void> {
  await readEnds(directory, ({ module }) => modules.includes(module))
}

function isEnd(value: unknown): value is ModuleEnd {
  const { module, folder, reason, at } = (value ?? {}) as Partial<ModuleEnd>
  return [module, folder, reason].every((text) => typeof text === 'string') && typeof at === 'number'
}
