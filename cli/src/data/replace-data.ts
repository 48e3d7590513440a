import { existsSync } from 'node:fs'
import { copyFile, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Lock, lockFile, syncPath } from '../host.ts'
import { carryOutRestoration, restoredFile, whileDatabaseLocked } from './restore-journal.ts'

export interface Replacement {
  readonly directory: string
  /** As it was called, for the history. */
  readonly command: string
  /** The lock from now on, of a generation of its own. */
  readonly lock: Lock
  readonly database: string
  /** What is moved where: a place, the database or another, to the file that goes there. */
  readonly sources: ReadonlyMap<string, string>
  /** Databases, beside that one, that no host may have open meanwhile. */
  readonly others?: readonly string[]
}

/**
 * Replaces the database and the lock together, at once or, where it is killed, by the next command or start.
 * @returns where the former database is, null where there was none
 * @throws {Failure} where a host runs: nothing has changed then
 */
export async function replaceData(replacement: Replacement): Promise<string | null> {
  const { directory, command, lock, database, sources, others = [] } = replacement
  const former = `${database}.before-generation-${lock.generation}`
  // The lock comes first beside its place, and last into it: see `removeUndecided`.
  return await whileDatabaseLocked([...new Set([...others, database])], async () => {
    const hadData = existsSync(database)
    await writeBeside(lockFile(directory), `${JSON.stringify(lock, null, 2)}\n`)
    for (const [place, source] of sources) await putBeside(place, source)
    const files = [...sources.keys(), lockFile(directory)]
    await carryOutRestoration(directory, { command, lock, database, former, files })
    return hadData ? former : null
  })
}

/** Puts a verified part beside its place, on the same file system, on the disk. */
async function putBeside(place: string, source: string): Promise<void> {
  const beside = restoredFile(place)
  await rm(beside, { force: true })
  try {
    await rename(source, beside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyFile(source, beside)
  }
  await syncPath(beside)
  await syncPath(dirname(beside))
}

async function writeBeside(place: string, text: string): Promise<void> {
  const handle = await open(restoredFile(place), 'w', 0o644)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncPath(dirname(place))
}
