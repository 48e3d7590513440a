import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncPath } from './sync-path.ts'

/**
 * Makes a folder, with those above it, where it is missing; on the disk when it resolves.
 * @returns whether it was missing
 */
export async function makeFolder(folder: string, mode = 0o755): Promise<boolean> {
  const first = await mkdir(folder, { recursive: true, mode })
  if (first === undefined) return false
  for (let made = folder; ; made = dirname(made)) {
    await syncPath(dirname(made))
    if (made === first) return true
  }
}
