import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acquireFileLock } from '@mortise/storage'

/**
 * The prefix of such a folder in an application's `.app`. If nobody holds its `lock`, a killed
 * process has left it.
 */
export const temporaryPrefix = '.temporary-'

/**
 * Runs `work` in an empty folder for this user alone, and removes the folder afterwards. It lies in
 * the system's temporary folder, or in `.app` if that is not writable.
 * @throws {NodeJS.ErrnoException} if neither is writable
 */
export async function inTemporaryFolder<Result>(
  application: string | undefined,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  let folder: string
  try {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'mortise-')))
  } catch (error) {
    if (application === undefined) throw Object.assign(error as Error, { path: tmpdir() })
    return await inOwnFolder(application, work)
  }
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function inOwnFolder<Result>(
  application: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = join(
    await realpath(application),
    '.app',
    `${temporaryPrefix}${randomBytes(8).toString('hex')}`,
  )
  const inside = join(folder, 'empty')
  // With its lock at once: a folder without one counts as left over.
  mkdirSync(inside, { recursive: true, mode: 0o700 })
  let lock: ReturnType<typeof acquireFileLock>
  try {
    lock = acquireFileLock(join(folder, 'lock'))
    return await work(inside)
  } finally {
    lock?.release()
    await rm(folder, { recursive: true, force: true })
  }
}
