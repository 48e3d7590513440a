import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  emptyLock,
  type Generation,
  type Lock,
  LockError,
  lockFile,
  newestGeneration,
  readLock,
  writeLock,
} from '@mortise/host'
import { freeName } from '../application/free-name.ts'
import { Failure } from '../failures/index.ts'

/** Why a command refuses an application whose lock is missing or broken, and the way back. */
export async function lostLock({ directory, message }: LockError): Promise<Failure> {
  const newest = await newestGeneration(directory)
  return new Failure(
    'usage',
    'lock-lost',
    `${message}. What is installed here is unknown, so nothing was changed.`,
    newest === undefined
      ? 'No record of it is left in .app/generations: restore the file from version control, or a backup with "app restore".'
      : `Run "app doctor --fix": it restores ${describe(newest)}. Or restore the file from version control.`,
  )
}

/**
 * Restores a lock that is missing or broken from the newest record. A broken file is kept in `.app/`.
 * @throws {Failure} where there is no record
 */
export async function restoreLock(directory: string, error: LockError): Promise<string> {
  const newest = await newestGeneration(directory)
  if (newest === undefined) throw await lostLock(error)
  const file = lockFile(directory)
  const broken = freeName(join(directory, '.app', `${basename(file)}.broken`))
  const isBroken = existsSync(file)
  if (isBroken) await rename(file, broken)
  await writeLock(directory, newest.lock)
  const kept = isBroken ? ` The broken file is kept as ${broken}.` : ''
  return `Restored ${basename(file)} from the record of ${describe(newest)}.${kept}`
}

/** Restores the lock where it is lost. @returns what was done; undefined where it is not lost. @throws {Failure} */
export async function restoreLostLock(directory: string): Promise<string | undefined> {
  try {
    await readLock(directory)
    return undefined
  } catch (error) {
    if (error instanceof LockError) return await restoreLock(directory, error)
    throw error
  }
}

/** The lock, or the newest record of one that is lost: for what replaces both data and lock. */
export async function lastLock(directory: string): Promise<Lock> {
  try {
    return await readLock(directory)
  } catch (error) {
    if (!(error instanceof LockError)) throw error
    return (await newestGeneration(directory))?.lock ?? emptyLock
  }
}

const describe = ({ generation, command, at }: Generation) => `generation ${generation} (${command}, ${at})`
