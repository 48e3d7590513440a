import type { LockFile } from '@mortise/application'
import { callApplication, HostEndedError, runWithoutHost } from '@mortise/host'
import { type AppliedMigration, StillNeededError } from '@mortise/storage'
import { freeArchive } from '../../data/archives.ts'
import { backUp } from '../../data/back-up.ts'
import { undoFailed } from '../../failures/index.ts'
import { isOfHost, readLedger } from '../../store/applied-migrations.ts'

// A down migration drops data that may still be wanted, so an archive of the whole database is on
// the disk before it. The hosts that need the data end first, so the archive has every row that
// they acknowledged.

export interface Undone {
  /**
   * The previous database, for `app restore`. Relative to the application folder. Absent if nothing
   * was left to undo.
   */
  readonly archive?: string
  /** Why the migrations stay: another host of the database needs them. */
  readonly stays?: string
}

/**
 * Undoes migrations of an application that already runs other modules.
 * @param lock the lock file for the archive
 * @throws {Failure} if they are not undone; the schema then stays ahead
 */
export async function archiveAndUndo(
  directory: string,
  lock: LockFile,
  migrations: readonly AppliedMigration[],
): Promise<Undone> {
  try {
    const applied = await readLedger(directory)
    // If a kill follows this step, another command completes the change.
    const left = migrations.filter(({ module, name }) =>
      applied.some((entry) => entry.module === module && entry.name === name),
    )
    if (left.length === 0) return {}
    // A host needs its own tables until it ends, so none may run here.
    const call = left.some(isOfHost) ? runWithoutHost : callApplication
    await call(directory, 'retired', { modules: [...new Set(left.map(({ module }) => module))] })
    const archive = await freeArchive(directory, 'undone', `${lock.generation}`)
    await backUp({ directory, file: `${directory}/${archive}`, withSecret: false, lock })
    await call(directory, 'undo', { migrations: left })
    return { archive }
  } catch (error) {
    if (error instanceof StillNeededError) return { stays: error.message }
    if (error instanceof HostEndedError) throw error
    throw undoFailed({ reason: (error as Error).message, cause: error })
  }
}
