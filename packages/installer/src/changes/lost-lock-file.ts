import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  emptyLockFile,
  type Generation,
  type LockFile,
  LockFileError,
  lockFilePath,
  newestGeneration,
  readLockFile,
  writeLockFile,
} from '@mortise/application'
import { unusedPath } from '@mortise/application/folder'
import { type Failure, lockLost } from '../failures/index.ts'

/** The failure for a missing or broken lock file, with the way to recover. */
export async function lostLockFile({ directory, message }: LockFileError): Promise<Failure> {
  const newest = await newestGeneration(directory)
  return newest === undefined
    ? lockLost({ hint: 'backup', problem: message })
    : lockLost({ hint: 'record', problem: message, record: describe(newest) })
}

/** Keeps a broken file in `.app/`. @throws {Failure} if there is no record */
export async function restoreLockFile(directory: string, error: LockFileError): Promise<string> {
  const newest = await newestGeneration(directory)
  if (newest === undefined) throw await lostLockFile(error)
  const file = lockFilePath(directory)
  const broken = unusedPath(join(directory, '.app', `${basename(file)}.broken`))
  const isBroken = existsSync(file)
  if (isBroken) await rename(file, broken)
  await writeLockFile(directory, newest.lock)
  const kept = isBroken ? ` The broken file is now ${broken}.` : ''
  return `Restored ${basename(file)} from the record of ${describe(newest)}.${kept}`
}

/**
 * The lock file, or the newest record of a lost one, for commands that replace both data and lock
 * file.
 */
export async function lastLockFile(directory: string): Promise<LockFile> {
  try {
    return await readLockFile(directory)
  } catch (error) {
    if (!(error instanceof LockFileError)) throw error
    return (await newestGeneration(directory))?.lock ?? emptyLockFile
  }
}

const describe = ({ generation, command, at }: Generation) => `generation ${generation} (${command}, ${at})`
