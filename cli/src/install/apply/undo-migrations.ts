import {
  type AppliedMigration,
  callApplication,
  HostEndedError,
  type Lock,
  runAlone,
  StillNeededError,
} from '@mortise/host'
import { freeArchive } from '../../data/archives.ts'
import { backUp } from '../../data/back-up.ts'
import { undoFailed } from '../../failures/index.ts'
import { isOfHost, readLedger } from '../../store/applied-migrations.ts'

// A `down` drops what nobody may have wanted to lose, so an archive of the whole database is on the disk before it.
// Those who need what goes are waited for first: the archive has every row that was acknowledged by them.

export interface Undone {
  /** What was there before, for `app restore`; relative to the application folder. Absent where nothing was left to undo. */
  readonly archive?: string
  /** Why they were not undone: another host of the database needs them. */
  readonly stays?: string
}

/**
 * Undoes migrations of an application that runs other modules already.
 * @param lock what is archived as installed
 * @throws {Failure} where they are not undone: the schema stays ahead then
 */
export async function undoMigrations(
  directory: string,
  lock: Lock,
  migrations: readonly AppliedMigration[],
): Promise<Undone> {
  try {
    const applied = await readLedger(directory)
    // Killed after this step, the change is completed by another command.
    const left = migrations.filter(({ module, name }) =>
      applied.some((entry) => entry.module === module && entry.name === name),
    )
    if (left.length === 0) return {}
    const call = callFor(left)
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

/** A host needs its own tables until it ends: none may run here then. */
const callFor = (migrations: readonly AppliedMigration[]) =>
  migrations.some(isOfHost) ? runAlone : callApplication
