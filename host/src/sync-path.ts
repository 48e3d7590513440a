import { open } from 'node:fs/promises'

/** Makes what a file holds durable, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
