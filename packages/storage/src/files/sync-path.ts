import { open } from 'node:fs/promises'

/** Syncs a file, or the names in a folder. @throws {NodeJS.ErrnoException} with `path` */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path })
  } finally {
    await handle.close()
  }
}
