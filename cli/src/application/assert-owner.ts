import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../terminal/failure.ts'

/**
 * Refuses a folder, or a `.app` in it, that belongs to another user. Root may write there, but leaves files that
 * the owner cannot replace; code of modules would run with the rights of the wrong user.
 * @throws {Failure} `not-owner` (4)
 */
export function assertOwner(directory: string, user = process.geteuid?.()): void {
  if (user === undefined) return // Windows has no such owners
  for (const path of [directory, join(directory, '.app')]) {
    const found = ownerOf(path)
    if (found !== undefined && found.uid !== user) throw notOwner(directory, path, found, user)
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

function notOwner(directory: string, path: string, { uid, gid }: Stats, user: number): Failure {
  const asThem = `setpriv --reuid=${uid} --regid=${gid} --clear-groups app …`
  return new Failure(
    'refused',
    'not-owner',
    `${path} belongs to another user (${uid}), and this is user ${user}. Nothing was changed.`,
    `Run the command as the owner: "su <name>" first, or as root "${asThem}". To make the application this user's, as root: chown -R ${user} ${directory}`,
  )
}
