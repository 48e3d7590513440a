import { accessSync, constants, statSync } from 'node:fs'

/** Whether this user may write to a file, or create files in a folder. */
export function isWritable(path: string): boolean {
  const { W_OK, X_OK } = constants
  try {
    accessSync(path, statSync(path).isDirectory() ? W_OK | X_OK : W_OK)
    return true
  } catch {
    return false
  }
}
