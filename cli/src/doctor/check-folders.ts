import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readConfig } from '@mortise/host'
import { assertUsable, systemError, writtenFolders } from '../application/writable-folders.ts'
import { assertCommandLockFile } from '../changes/command-lock.ts'
import { asFailure } from '../terminal/explain.ts'
import type { FixableFinding } from './finding.ts'

/** With less, a command that installs and a host that commits soon fail. In bytes. */
const LITTLE = 1024 * 1024

/** Whether what the application is written into are folders, can be written, and have room. */
export async function checkFolders(directory: string): Promise<FixableFinding[]> {
  const troubles: FixableFinding[] = []
  for (const folder of [...writtenFolders(directory), ...(await databaseFolder(directory))]) {
    const trouble = await troubleOf(async () => {
      await assertUsable(folder)
      if (existsSync(folder)) await assertRoom(folder)
    })
    troubles.push(...trouble)
    // Whatever is wrong with this one is wrong with those in it.
    if (folder === directory && trouble.length > 0) return troubles
  }
  return [
    ...troubles,
    ...(troubles.length === 0 ? await troubleOf(() => assertCommandLockFile(directory)) : []),
  ]
}

/** What is wrong with the configuration itself is another check's. */
async function databaseFolder(directory: string): Promise<string[]> {
  const config = await readConfig(directory).catch(() => undefined)
  return config?.databaseFile === undefined ? [] : [dirname(config.databaseFile)]
}

async function assertRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < LITTLE) throw systemError('ENOSPC', folder)
}

async function troubleOf(look: () => Promise<void>): Promise<FixableFinding[]> {
  try {
    await look()
    return []
  } catch (error) {
    const { message, hint } = asFailure(error)
    return [{ id: 'folder-unusable', severity: 'error', message, hint }]
  }
}
