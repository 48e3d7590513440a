import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  emptyLock,
  type Lock,
  lockedPackages,
  readJsonFile,
  storeDirectory,
  storedModule,
  writeDurably,
} from '../host.ts'
import { isLock } from './is-lock.ts'
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
const generationFile = (directory: string, number: number) => join(folderOf(directory), `${number}.json`)

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
  await writeDurably(generationFile(directory, lock.generation), `${JSON.stringify(generation, null, 2)}\n`)
}

/** A generation that was in force, and of which no more is known than its number. */
export interface UnreadableGeneration {
  readonly generation: number
  readonly file: string
  readonly error: unknown
}

export interface Generations {
  /** All that were in force and can be read, oldest first. */
  readonly known: readonly Generation[]
  readonly unreadable: readonly UnreadableGeneration[]
}

/** All that were in force, up to that of `lock`. */
export async function readGenerations(directory: string, lock: Lock): Promise<Generations> {
  const known: Generation[] = []
  const unreadable: UnreadableGeneration[] = []
  for (const number of await numbersOf(directory, lock)) {
    const file = generationFile(directory, number)
    try {
      const generation = await readJsonFile(file, isGeneration)
      if (generation !== undefined) known.push(generation)
    } catch (error) {
      unreadable.push({ generation: number, file, error })
    }
  }
  return { known, unreadable }
}

async function numbersOf(directory: string, lock: Lock): Promise<number[]> {
  const names = await readdir(folderOf(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
    .filter((number) => number <= lock.generation)
    .sort((one, other) => one - other)
}

function isGeneration(value: unknown): value is Generation {
  const { at, command, lock } = (value ?? {}) as Partial<Generation>
  return typeof at === 'string' && typeof command === 'string' && isLock(lock)
}

/** The last one on record, whether it was in force or not; undefined where no record can be read. */
export async function newestGeneration(directory: string): Promise<Generation | undefined> {
  const { known } = await readGenerations(directory, { ...emptyLock, generation: Number.POSITIVE_INFINITY })
  return known.at(-1)
}

/** Removes packages and snapshots that none of the last generations has. */
export async function pruneStore(directory: string, lock: Lock): Promise<void> {
  for (const path of await unreachable(directory, lock)) await rm(path, { recursive: true, force: true })
}

/**
 * The packages in the store, and the snapshots, that none of the last generations has. Empty as long as one of these
 * has no record or cannot be read: what it had is unknown.
 */
export async function unreachable(directory: string, lock: Lock): Promise<string[]> {
  const { known } = await readGenerations(directory, lock)
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
