import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  hashTree,
  inLockedFolder,
  type LockedPackage,
  storeDirectory,
  storedModule,
} from '@mortise/application'
import { assertUsable } from '@mortise/application/folder'
import { makeFolder, syncPath } from '@mortise/storage'
import { unsafePackage } from '../failures/index.ts'

// An installation prepares packages in `.app/store/.staging-…`, with the same peers from the host
// as in the store. One rename then moves the complete, durable package to its final name. So a name
// in the store is complete or absent, and any staging folder belongs to a killed command.

export const stagingPrefix = '.staging-'

/** The limits for a package with its dependencies. */
export const largestTree = { files: 100_000, bytes: 1024 * 1024 * 1024 }

/** npm's cache until the command ends, if the user's cache is not writable. */
export const npmCacheOf = (directory: string) => join(storeDirectory(directory), `${stagingPrefix}npm-cache`)

export async function makeStaging(directory: string, mode = 0o755): Promise<string> {
  const folder = join(storeDirectory(directory), `${stagingPrefix}${randomBytes(8).toString('hex')}`)
  await makeFolder(storeDirectory(directory))
  await mkdir(folder, { mode })
  return folder
}

// `app backup` does not take the command lock. Each backup has its own folder `.app/.backup-…`,
// with a lock of its own.
export const backupPrefix = '.backup-'

/** Runs `work` in a folder for the parts of a backup, and removes the folder afterwards. */
export async function whileBackingUp<Result>(
  directory: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const own = join(directory, '.app')
  await assertUsable(own)
  await makeFolder(own, 0o700)
  return await inLockedFolder(own, backupPrefix, work)
}

export interface FinalizedPackage {
  /** SHA-512 over every file (SRI). */
  readonly tree: string
  readonly files: number
  readonly bytes: number
}

/**
 * Makes a staged package final: modes 0644 and 0755, only files and folders, everything synced to
 * the disk.
 * @throws {Failure} for a link or another special file, or above `largestTree`
 */
export async function seal(staging: string, what: string): Promise<FinalizedPackage> {
  const entries = await readdir(staging, { recursive: true, withFileTypes: true })
  let files = 0
  let bytes = 0
  const folders = [staging]
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) {
      await chmod(path, 0o755)
      folders.push(path)
      continue
    }
    if (!entry.isFile()) {
      throw unsafePackage({ target: what, reason: `${entry.name} is a link, and packages hold none` })
    }
    const { mode, size } = await stat(path)
    await chmod(path, (mode & 0o111) === 0 ? 0o644 : 0o755)
    files += 1
    bytes += size
    if (files > largestTree.files || bytes > largestTree.bytes) throw treeTooLarge(what)
    await syncPath(path)
  }
  for (const folder of folders) await syncPath(folder)
  return { tree: await hashTree(staging), files, bytes }
}

/** Keeps an undamaged package that is already there. */
export async function moveToStore(directory: string, locked: LockedPackage, staging: string): Promise<void> {
  const place = storedModule(directory, locked)
  // The existing folder may lack the sync of its name: an earlier attempt may have ended right
  // after the move.
  if (await holds(place, locked.tree)) return await syncPath(dirname(place))
  await rm(`${staging}-damaged`, { recursive: true, force: true })
  try {
    await rename(place, `${staging}-damaged`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  await rename(staging, place)
  await syncPath(dirname(place))
  await rm(`${staging}-damaged`, { recursive: true, force: true })
}

/** Whether the store has an installed package, byte for byte. */
export const isStored = (directory: string, locked: LockedPackage) =>
  holds(storedModule(directory, locked), locked.tree)

/** Whether a folder has exactly this content. */
export async function holds(place: string, tree: string): Promise<boolean> {
  try {
    return (await hashTree(place)) === tree
  } catch {
    return false // absent, or with an entry that the store does not allow
  }
}

export async function measure(folder: string): Promise<Omit<FinalizedPackage, 'tree'>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const stats = await Promise.all(files.map((file) => stat(join(file.parentPath, file.name))))
  return { files: files.length, bytes: stats.reduce((sum, { size }) => sum + size, 0) }
}

export const treeTooLarge = (target: string) =>
  unsafePackage({ target, reason: 'it is too large with its dependencies (100,000 files, 1 GiB)' })
