import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readConfig } from '@mortise/application'
import { assertUsable, systemError, writtenFolders } from '@mortise/application/folder'
import { reservedBytes, volumeOf } from '@mortise/storage'
import { assertCommandLockFile } from '../changes/command-lock.ts'
import { asFailure } from '../reporting/explain.ts'
import type { AsyncFindings, FixableFinding } from './finding.ts'

/** With less free space, installations and commits soon fail. In bytes. */
const LITTLE = 1024 * 1024

export async function* checkFolders(directory: string): AsyncFindings {
  let isSound = true
  for (const folder of [...writtenFolders(directory), ...(await databaseFolder(directory))]) {
    const trouble = await troubleOf(async () => {
      await assertUsable(folder)
      if (existsSync(folder)) await assertRoom(folder)
    })
    if (trouble === undefined) continue
    yield trouble
    // A problem of this folder is also a problem of the folders inside it.
    if (folder === directory) return
    isSound = false
  }
  const trouble = isSound ? await troubleOf(() => assertCommandLockFile(directory)) : undefined
  if (trouble) yield trouble
}

/** Another check reports a wrong configuration. */
async function databaseFolder(directory: string): Promise<string[]> {
  const config = await readConfig(directory).catch(() => undefined)
  return config?.databaseFile === undefined ? [] : [dirname(config.databaseFile)]
}

async function assertRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < LITTLE) throw systemError('ENOSPC', folder)
}

async function troubleOf(look: () => Promise<void>): Promise<FixableFinding | undefined> {
  try {
    await look()
    return undefined
  } catch (error) {
    const { message, hint } = asFailure(error)
    return { id: 'folder-unusable', severity: 'error', message, hint }
  }
}

/** Whether the SQLite file has room to grow. Another check reports a wrong configuration. */
export async function* checkDisk(directory: string): AsyncFindings {
  const config = await readConfig(directory).catch(() => undefined)
  const file = config?.databaseFile
  if (config === undefined || file === undefined || !existsSync(file)) return
  const volume = await volumeOf(file)
  const kept = reservedBytes(volume, config.storage.minFreeBytes)
  if (volume.free >= Math.max(kept, 1)) return
  yield {
    id: 'storage-full',
    severity: 'error',
    message: `The disk of ${file} has ${volume.free} bytes free, and the host needs ${kept}: it refuses writes (503 storage-full), and reads still work.`,
    hint: `Free disk space (df -h ${file}): the host then accepts writes again. The setting "storage.minFreeBytes" is the limit.`,
  }
}
