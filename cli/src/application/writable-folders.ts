import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { storeDirectory } from '@mortise/host'
import { snapshotsFolder } from './snapshots.ts'

/** The folders that commands write into. */
export function writtenFolders(directory: string): string[] {
  const own = join(directory, '.app')
  const below = ['generations', 'audit', 'purged'].map((name) => join(own, name))
  return [directory, own, storeDirectory(directory), snapshotsFolder(directory), ...below]
}

/**
 * A folder that is not there is all right: who needs it makes it.
 * @throws {NodeJS.ErrnoException} where it is a file, or cannot be written
 */
export async function assertUsable(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw systemError('ENOTDIR', folder)
    await access(folder, constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** An error like those of the operating system. */
export const systemError = (code: string, path: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: ${path}`), { code, path })
