import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, readJsonFile, syncPath, writeDurably } from '@mortise/storage'
import { firstError } from '../config/first-error.ts'
import { GenerationNumber, isLockFile, type LockFile } from '../modules/lock-file.ts'

/** A set of modules that was current: `.app/generations/<generation>.json`. */
export interface Generation {
  /**
   * Counts up in this application. Equals the generation of its lock, unless that lock came from
   * elsewhere and counts on its own; then the lock's number may be lower, or one that another lock
   * had here.
   */
  readonly generation: number
  /** RFC 3339, UTC. */
  readonly at: string
  readonly command: string
  readonly lock: LockFile
  /** The previous generation, which the running host could not adopt, or reverted. */
  readonly takesBack?: number
  /** The reason for the revert. */
  readonly reason?: string
}

const folderOf = (directory: string) => join(directory, '.app', 'generations')
const fileOf = (directory: string, generation: number) => join(folderOf(directory), `${generation}.json`)

/**
 * Written once the generation is current, so the last record is the current one. Repeating it
 * changes nothing.
 * @param more `generation`: if it differs from the lock's own number
 */
export async function recordGeneration(
  directory: string,
  command: string,
  lock: LockFile,
  more: Partial<Pick<Generation, 'generation' | 'takesBack' | 'reason'>> = {},
): Promise<void> {
  const { generation = lock.generation, ...takingBack } = more
  const file = fileOf(directory, generation)
  // The directory entry of an existing file may not be synced: the earlier attempt may have
  // crashed.
  if (existsSync(file)) return await syncPath(folderOf(directory))
  await makeFolder(folderOf(directory), 0o700)
  const record: Omit<Generation, 'generation'> = {
    at: new Date().toISOString(),
    command,
    lock,
    ...takingBack,
  }
  await writeDurably(file, `${JSON.stringify(record, null, 2)}\n`)
}

/** A generation that was current; only its number is known. */
interface UnreadableRecord {
  readonly generation: number
  readonly file: string
  readonly error: unknown
}

export interface Generations {
  /** All readable generations, oldest first. */
  readonly known: readonly Generation[]
  readonly unreadable: readonly UnreadableRecord[]
}

/** All generations that were current. */
export async function readGenerations(directory: string): Promise<Generations> {
  const known: Generation[] = []
  const unreadable: UnreadableRecord[] = []
  for (const generation of await numbersOf(directory)) {
    const file = fileOf(directory, generation)
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
    .filter((number) => firstError(GenerationNumber, number) === undefined)
    .sort((one, other) => one - other)
}

function isRecord(value: unknown): value is Omit<Generation, 'generation'> {
  const { at, command, lock } = (value ?? {}) as Partial<Generation>
  return typeof at === 'string' && typeof command === 'string' && isLockFile(lock)
}

/** The last readable record. */
export async function newestGeneration(directory: string): Promise<Generation | undefined> {
  return (await readGenerations(directory)).known.at(-1)
}
