import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OperatorRecord } from '../audit/audit-trail.ts'
import type { Lock } from './lock.ts'
import { writeDurably } from './write-durably.ts'

/** What was installed once, and the command that made it so: `.app/generations/<number>.json`. */
export interface Generation {
  /** RFC 3339, UTC. */
  readonly at: string
  readonly command: string
  readonly lock: Lock
  /** The generation before it, which the running host could not take up, or took back. */
  readonly takesBack?: number
  /** Why it was taken back. */
  readonly reason?: string
  /** For the audit trail, where the host has taken it back: it is left with the lock, or at the next start. */
  readonly record?: OperatorRecord
}

const folderOf = (directory: string) => join(directory, '.app', 'generations')
const fileOf = (directory: string, generation: number) => join(folderOf(directory), `${generation}.json`)

/** Written before the lock: a generation above the lock's was never in force. */
export async function recordGeneration(
  directory: string,
  command: string,
  lock: Lock,
  takingBack: Pick<Generation, 'takesBack' | 'reason' | 'record'> = {},
): Promise<void> {
  await mkdir(folderOf(directory), { recursive: true })
  const generation: Generation = { at: new Date().toISOString(), command, lock, ...takingBack }
  await writeDurably(fileOf(directory, lock.generation), `${JSON.stringify(generation, null, 2)}\n`)
}

/** Undefined where it was not recorded. */
export async function readGeneration(directory: string, generation: number): Promise<Generation | undefined> {
  try {
    return JSON.parse(await readFile(fileOf(directory, generation), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** All that were in force, up to that of `lock`, oldest first. */
export async function readGenerations(directory: string, lock: Lock): Promise<Generation[]> {
  const names = await readdir(folderOf(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const numbers = names.flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
  const past = numbers.filter((number) => number <= lock.generation).sort((one, other) => one - other)
  const read = await Promise.all(past.map((number) => readGeneration(directory, number)))
  return read.filter((generation) => generation !== undefined)
}
