import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acquireFileLock } from '@mortise/storage'

/** If nobody holds the `lock` of such a folder, a killed process has left it. */
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
    const own = join(await realpath(application), '.app')
    return await inLockedFolder(own, temporaryPrefix, async (folder) => {
      const inside = join(folder, 'empty')
      await mkdir(inside, { mode: 0o700 })
      return await work(inside)
    })
  }
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs `work` in a new folder with a `lock`, for this user alone, and removes it afterwards. */
export async function inLockedFolder<Result>(
  parent: string,
  prefix: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = join(parent, `${prefix}${randomBytes(8).toString('hex')}`)
  // Both calls are synchronous, because a folder without the lock counts as left over.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  let lock: ReturnType<typeof acquireFileLock>
  try {
    lock = acquireFileLock(join(folder, 'lock'))
    return await work(folder)
  } finally {
    lock?.release()
    await rm(folder, { recursive: true, force: true })
  }
}
