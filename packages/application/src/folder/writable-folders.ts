import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { storeDirectory } from '../modules/lock-file.ts'
import { snapshotsFolder } from './snapshots.ts'

export function writtenFolders(directory: string): string[] {
  const own = join(directory, '.app')
  const below = ['generations', 'audit', 'purged'].map((name) => join(own, name))
  return [directory, own, storeDirectory(directory), snapshotsFolder(directory), ...below]
}

/**
 * Accepts a missing folder, because the code that needs it creates it.
 * @throws {NodeJS.ErrnoException} if the path is a file, or the folder is not writable
 */
export async function assertUsable(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw systemError('ENOTDIR', folder)
    await access(folder, constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** An error in the form of the operating system's errors. */
export const systemError = (code: string, path: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: ${path}`), { code, path })
