import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncPath } from './sync-path.ts'

/** Also those above it, durably. Returns whether it was missing. */
export async function makeFolder(folder: string, mode = 0o755): Promise<boolean> {
  const first = await mkdir(folder, { recursive: true, mode })
  if (first === undefined) return false
  for (let made = folder; ; made = dirname(made)) {
    await syncPath(dirname(made))
    if (made === first) return true
  }
}
