import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readConfig } from '@mortise/host'
import { assertUsable, systemError, writtenFolders } from '../application/writable-folders.ts'
import { assertCommandLockFile } from '../changes/command-lock.ts'
import { asFailure } from '../terminal/explain.ts'
import type { FixableFinding } from './finding.ts'

/** With less free space, installations and commits soon fail. In bytes. */
const LITTLE = 1024 * 1024

export async function checkFolders(directory: string): Promise<FixableFinding[]> {
  const found: FixableFinding[] = []
  for (const folder of [...writtenFolders(directory), ...(await databaseFolder(directory))]) {
    const findings = await findingsOf(async () => {
      await assertUsable(folder)
      if (existsSync(folder)) await assertRoom(folder)
    })
    found.push(...findings)
    // A problem of this folder is also a problem of the folders inside it.
    if (folder === directory && findings.length > 0) return found
  }
  return [...found, ...(found.length === 0 ? await findingsOf(() => assertCommandLockFile(directory)) : [])]
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

async function findingsOf(look: () => Promise<void>): Promise<FixableFinding[]> {
  try {
    await look()
    return []
  } catch (error) {
    const { message, hint } = asFailure(error)
    return [{ id: 'folder-unusable', severity: 'error', message, hint }]
  }
}
