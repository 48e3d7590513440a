import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Lock,
  lockedPackages,
  readJsonFile,
  storeDirectory,
  storedModule,
  writeDurably,
} from '../host.ts'
import { isLock } from './is-lock.ts'
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
const generationFile = (directory: string, number: number) => join(folderOf(directory), `${number}.json`)

/** Written once it is in force, so the last one on record is what is in force. Repeating it changes nothing. */
export async function recordGeneration(
  directory: string,
  command: string,
  lock: Lock,
  takesBack?: number,
  generation = lock.generation,
): Promise<void> {
  await mkdir(folderOf(directory), { recursive: true })
  const file = generationFile(directory, generation)
  if (existsSync(file)) return
  const record: Omit<Generation, 'generation'> = {
    at: new Date().toISOString(),
    command,
    lock,
    ...(takesBack !== undefined && { takesBack }),
  }
  await writeDurably(file, `${JSON.stringify(record, null, 2)}\n`)
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

/** All that were in force. */
export async function readGenerations(directory: string): Promise<Generations> {
  const known: Generation[] = []
  const unreadable: UnreadableGeneration[] = []
  for (const generation of await numbersOf(directory)) {
    const file = generationFile(directory, generation)
    try {
      const record = await readJsonFile(file, isRecord)
      if (record !== undefined) known.push({ ...record, generation })
    } catch (error) {
      unreadable.push({ generation, file, error })
    }
  }
  return { known, unreadable }
}

async function numbersOf(directory: string): Promise<number[]> {
  const names = await readdir(folderOf(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
    .sort((one, other) => one - other)
}

function isRecord(value: unknown): value is Omit<Generation, 'generation'> {
  const { at, command, lock } = (value ?? {}) as Partial<Generation>
  return typeof at === 'string' && typeof command === 'string' && isLock(lock)
}

/** The last one on record that can be read. */
export async function newestGeneration(directory: string): Promise<Generation | undefined> {
  return (await readGenerations(directory)).known.at(-1)
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
  const { known } = await readGenerations(directory)
  const newest = Math.max(lock.generation, known.at(-1)?.generation ?? 0)
  const last = known.filter(({ generation }) => generation > newest - KEPT)
  if (last.length < Math.min(KEPT, newest + 1)) return []
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
