import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Lock, lockedPackages, storeDirectory, storedModule, writeDurably } from '../host.ts'
import { readSnapshots } from './snapshots.ts'

/** What was installed once, and the command that made it so. */
export interface Generation {
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

/** Written before the lock: a generation above the lock's was never in force. */
export async function recordGeneration(
  directory: string,
  command: string,
  lock: Lock,
  takesBack?: number,
): Promise<void> {
  const folder = folderOf(directory)
  await mkdir(folder, { recursive: true })
  const generation: Generation = {
    at: new Date().toISOString(),
    command,
    lock,
    ...(takesBack !== undefined && { takesBack }),
  }
  await writeDurably(join(folder, `${lock.generation}.json`), `${JSON.stringify(generation, null, 2)}\n`)
}

/** All that were in force, up to that of `lock`, oldest first. */
export async function readGenerations(directory: string, lock: Lock): Promise<Generation[]> {
  const folder = folderOf(directory)
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const numbers = names.flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  const past = numbers.filter((number) => number <= lock.generation).sort((one, other) => one - other)
  return Promise.all(
    past.map(async (number) => JSON.parse(await readFile(join(folder, `${number}.json`), 'utf8'))),
  )
}

/** The last one on record, whether it was in force or not; undefined where no record can be read. */
export async function newestGeneration(directory: string): Promise<Generation | undefined> {
  const names = await readdir(folderOf(directory)).catch(() => [])
  const numbers = names.flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  for (const number of numbers.sort((one, other) => other - one)) {
    const text = await readFile(join(folderOf(directory), `${number}.json`), 'utf8').catch(() => '')
    try {
      return JSON.parse(text)
    } catch {} // one that cannot be read is no record
  }
  return undefined
}

/** Removes packages and snapshots that none of the last generations has. */
export async function pruneStore(directory: string, lock: Lock): Promise<void> {
  for (const path of await unreachable(directory, lock)) await rm(path, { recursive: true, force: true })
}

/**
 * The packages in the store, and the snapshots, that none of the last generations has. There are none as long as one
 * of these generations has no record: what it had is unknown.
 */
export async function unreachable(directory: string, lock: Lock): Promise<string[]> {
  const known = await readGenerations(directory, lock)
  const last = known.filter((past) => past.lock.generation > lock.generation - KEPT)
  if (last.length < Math.min(KEPT, lock.generation + 1)) return []
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
      locks.some((past) => past.generation === generation) ? [] : [file],
    ),
  ]
}
