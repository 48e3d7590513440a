import { type FileHandle, open } from 'node:fs/promises'

let isSkipped = false

/**
 * From now on no file is synced in this process. For an application in development: its files
 * survive a kill, and need not survive a power failure. The database is synced as ever.
 */
export function skipSyncs(): void {
  isSkipped = true
}

export async function sync(handle: FileHandle): Promise<void> {
  if (!isSkipped) await handle.sync()
}

/** Syncs a file, or the names in a folder. @throws {NodeJS.ErrnoException} with `path` */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await sync(handle)
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path })
  } finally {
    await handle.close()
  }
}
