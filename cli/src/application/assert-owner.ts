import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { notOwner } from '../failures/index.ts'

/**
 * Refuses a folder, or a `.app` in it, that belongs to another user. Root may write there, but leaves files that
 * the owner cannot replace; code of modules would run with the rights of the wrong user.
 * @throws {Failure} `not-owner` (4)
 */
export function assertOwner(directory: string, user = process.geteuid?.()): void {
  if (user === undefined) return // Windows has no such owners
  for (const path of [directory, join(directory, '.app')]) {
    const found = ownerOf(path)
    if (found === undefined || found.uid === user) continue
    throw notOwner({ path, owner: found.uid, group: found.gid, user, directory })
  }
}

/** Undefined where there is nothing, or nothing can be seen. */
function ownerOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
