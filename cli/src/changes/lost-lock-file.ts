import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  emptyLockFile,
  type Generation,
  type Lock,
  LockFileError,
  lockFilePath,
  newestGeneration,
  readLockFile,
  writeLockFile,
} from '@mortise/host'
import { unusedPath } from '../application/unused-path.ts'
import { type Failure, lockLost, lockLostRecordLeft } from '../failures/index.ts'

/** Why a command refuses an application whose lock is missing or broken, and the way back. */
export async function lostLockFile({ directory, message }: LockFileError): Promise<Failure> {
  const newest = await newestGeneration(directory)
  return newest === undefined
    ? lockLost({ problem: message })
    : lockLostRecordLeft({ problem: message, record: describe(newest) })
}

/**
 * Restores a lock that is missing or broken from the newest record. A broken file is kept in `.app/`.
 * @throws {Failure} where there is no record
 */
export async function restoreLockFile(directory: string, error: LockFileError): Promise<string> {
  const newest = await newestGeneration(directory)
  if (newest === undefined) throw await lostLockFile(error)
  const file = lockFilePath(directory)
  const broken = unusedPath(join(directory, '.app', `${basename(file)}.broken`))
  const isBroken = existsSync(file)
  if (isBroken) await rename(file, broken)
  await writeLockFile(directory, newest.lock)
  const kept = isBroken ? ` The broken file is kept as ${broken}.` : ''
  return `Restored ${basename(file)} from the record of ${describe(newest)}.${kept}`
}

/** Restores the lock where it is lost. @returns what was done; undefined where it is not lost. @throws {Failure} */
export async function restoreLostLockFile(directory: string): Promise<string | undefined> {
  try {
    await readLockFile(directory)
    return undefined
  } catch (error) {
    if (error instanceof LockFileError) return await restoreLockFile(directory, error)
    throw error
  }
}

/** The lock, or the newest record of one that is lost: for what replaces both data and lock. */
export async function lastLockFile(directory: string): Promise<Lock> {
  try {
    return await readLockFile(directory)
  } catch (error) {
    if (!(error instanceof LockFileError)) throw error
    return (await newestGeneration(directory))?.lock ?? emptyLockFile
  }
}

const describe = ({ generation, command, at }: Generation) => `generation ${generation} (${command}, ${at})`
