import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { notOwner } from '../failures/index.ts'

/**
 * Rejects an application folder, or its `.app`, that belongs to another user. Root could write
 * there, but its files could not be replaced by the owner, and module code would run with the
 * rights of the wrong user.
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

/** Undefined if there is nothing, or nothing visible. */
function ownerOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
