import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Lock, lockedPackages, storeDirectory, storedModule, writeDurably } from '../host.ts'
import { readSnapshots } from './snapshots.ts'

/** What was in force once, and the command that made it so. */
export interface Generation {
  /**
   * Counts up in this application. That of its lock, unless that lock came from elsewhere, which counts its own: it may
   * be lower then, or one that another lock had here.
   */
  readonly generation: number
  /** RFC 3339, UTC. */
  readonly at: string
  readonly command: string
  readonly lock: Lock
  /** The generation before it, which the running host could not take up. */
  readonly takesBack?: number
}

/** Generations whose packages stay in the store, and whose snapshots stay, the present one included: as far as rolling back reaches. */
export const KEPT = 5

const folderOf = (directory: string) => join(directory, '.app', 'generations')

/** Written once it is in force, so the last one on record is what is in force. Repeating it changes nothing. */
export async function recordGeneration(
  directory: string,
  command: string,
  lock: Lock,
  takesBack?: number,
  generation = lock.generation,
): Promise<void> {
  const folder = folderOf(directory)
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${generation}.json`)
  if (existsSync(file)) return
  const record: Omit<Generation, 'generation'> = {
    at: new Date().toISOString(),
    command,
    lock,
    ...(takesBack !== undefined && { takesBack }),
  }
  await writeDurably(file, `${JSON.stringify(record, null, 2)}\n`)
}

/** All that were in force, oldest first. */
export async function readGenerations(directory: string): Promise<Generation[]> {
  const folder = folderOf(directory)
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const numbers = names.flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  return Promise.all(
    numbers
      .sort((one, other) => one - other)
      .map(async (generation) => ({
        ...JSON.parse(await readFile(join(folder, `${generation}.json`), 'utf8')),
        generation,
      })),
  )
}

/** Removes packages and snapshots that none of the last generations has. */
export async function pruneStore(directory: string, lock: Lock): Promise<void> {
  for (const path of await unreachable(directory, lock)) await rm(path, { recursive: true, force: true })
}

/** The packages in the store, and the snapshots, that none of the last generations has. */
export async function unreachable(directory: string, lock: Lock): Promise<string[]> {
  const last = (await readGenerations(directory)).slice(-KEPT)
  const locks = [lock, ...last.map((generation) => generation.lock)]
  const kept = new Set(
    locks.flatMap((kept) =>
      [...lockedPackages(kept).values()].map((locked) => storedModule(directory, locked)),
    ),
  )
  const store = storeDirectory(directory)
  const names = await readdir(store).catch(() => [])
  const folders = names.filter((name) => !name.startsWith('.')).map((name) => join(store, name))
  const snapshots = await readSnapshots(directory)
  return [
    ...folders.filter((folder) => !kept.has(folder)),
    ...snapshots.flatMap(({ generation, file }) =>
      last.some((past) => past.generation === generation) ? [] : [file],
    ),
  ]
}
