import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asFailure } from '../explain.ts'
import { readConfig, storeDirectory } from '../host.ts'
import { snapshotsFolder } from '../install/snapshots.ts'
import type { Trouble } from './finding.ts'

/** Below that a command that installs, and a host that commits, soon fail. In bytes. */
const LITTLE = 1024 * 1024

/** Whether the folders of the application are folders, can be written, and have room. */
export async function checkFolders(directory: string): Promise<Trouble[]> {
  const own = join(directory, '.app')
  const data = await databaseFolder(directory)
  const below = ['generations', 'audit', 'purged'].map((name) => join(own, name))
  const folders = [directory, own, storeDirectory(directory), snapshotsFolder(directory), ...below, ...data]
  const troubles: Trouble[] = []
  for (const folder of folders) {
    const trouble = await folderTrouble(folder)
    if (trouble === undefined) continue
    troubles.push(trouble)
    if (folder === directory) break
  }
  return troubles
}

/** What is wrong with the configuration itself is another check's. */
async function databaseFolder(directory: string): Promise<string[]> {
  const config = await readConfig(directory).catch(() => undefined)
  return config?.databaseFile === undefined ? [] : [dirname(config.databaseFile)]
}

/** Undefined also for a folder that is not there: who needs it makes it. */
async function folderTrouble(folder: string): Promise<Trouble | undefined> {
  try {
    if (!(await stat(folder)).isDirectory())
      throw Object.assign(new Error(), { code: 'ENOTDIR', path: folder })
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < LITTLE) throw Object.assign(new Error(), { code: 'ENOSPC', path: folder })
    return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    const { message, hint } = asFailure(error)
    return { id: 'folder-unusable', severity: 'error', message, hint }
  }
}
