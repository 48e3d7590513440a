import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { configFile, lockFilePath, storeDirectory, temporaryPrefix } from '@mortise/application'
import { isSnapshot, snapshotsFolder } from '@mortise/application/folder'
import { acquireFileLock } from '@mortise/storage'
import { backupPrefix, stagingPrefix } from './staging.ts'

/** Removes the leftovers of killed commands. Call this only with the command lock. */
export async function removeLeftovers(directory: string): Promise<number> {
  const leftovers = await findLeftovers(directory)
  for (const path of leftovers) await rm(path, { recursive: true, force: true })
  return leftovers.length
}

/** The leftovers of killed commands: staged packages, and files before their rename. */
export async function findLeftovers(directory: string): Promise<string[]> {
  const isTemporary = (name: string) => name.endsWith('.tmp')
  const committed = [lockFilePath(directory), configFile(directory), '.gitignore'].map(
    (file) => `${basename(file)}.`,
  )
  const isCommitted = (name: string) => committed.some((start) => name.startsWith(start))
  const found = await Promise.all([
    abandonedFolders(directory),
    namesIn(storeDirectory(directory), (name) => name.startsWith(stagingPrefix)),
    namesIn(directory, (name) => isTemporary(name) && isCommitted(name)),
    namesIn(snapshotsFolder(directory), (name) => !isSnapshot(name)),
    ...['.', 'generations', 'purged', 'undone', 'audit'].map((folder) =>
      namesIn(join(directory, '.app', folder), isTemporary),
    ),
  ])
  return found.flat()
}

/** The folders of backups, and temporary folders, whose process has died. */
async function abandonedFolders(directory: string): Promise<string[]> {
  const prefixes = [backupPrefix, temporaryPrefix]
  const isOne = (name: string) => prefixes.some((prefix) => name.startsWith(prefix))
  const folders = await namesIn(join(directory, '.app'), isOne)
  return folders.filter((folder) => {
    try {
      const lock = acquireFileLock(join(folder, 'lock'))
      lock?.release()
      return lock !== undefined
    } catch {
      return false // already removed, or not removable here
    }
  })
}

async function namesIn(folder: string, matches: (name: string) => boolean): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(matches).map((name) => join(folder, name))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw error
  }
}
