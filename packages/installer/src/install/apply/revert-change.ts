import { type LockFile, recordGeneration, writeLockFile } from '@mortise/application'
import { closeJournal, type Journal } from '../../changes/journal.ts'
import { restoreCommand } from '../../data/archives.ts'
import { activationFailed, type Failure } from '../../failures/index.ts'
import { activate } from './activate.ts'
import { archiveAndUndo } from './archive-and-undo.ts'
import { replaceConfig } from './commit.ts'
import type { AppliedMigrations } from './migrate.ts'

/**
 * Writes the previous lock file as a new generation, unless the change was an external lock file,
 * and undoes the migrations of the change if possible.
 */
export async function revertChange(
  directory: string,
  journal: Journal,
  migrated: AppliedMigrations,
  reason: string,
): Promise<Failure> {
  const where =
    journal.external === undefined
      ? await restoreModules(directory, journal, reason)
      : 'It still serves the previous modules.'
  const schema = await undoOrReport(directory, journal.previous, migrated)
  await closeJournal(directory, journal, 'reverted')
  return activationFailed({ reason, where, schema })
}

async function restoreModules(directory: string, journal: Journal, reason: string): Promise<string> {
  const { command, next, config } = journal
  const back = revertedLockFile(journal)
  if (config) await replaceConfig(directory, config.next, config.previous)
  await writeLockFile(directory, back)
  await recordGeneration(directory, revertEntry(command), back, { takesBack: next.generation, reason })
  const outcome = await activate(directory)
  return outcome === 'served' ? 'The previous modules serve again.' : 'The lock file was restored.'
}

/** The lock file of a revert. */
export const revertedLockFile = ({ previous, next }: Journal): LockFile => ({
  ...previous,
  generation: next.generation + 1,
})
/** The entry for it in the history. */
export const revertEntry = (command: string) => `${command} (reverted)`

async function undoOrReport(
  directory: string,
  previous: LockFile,
  migrated: AppliedMigrations,
): Promise<string> {
  if (migrated.length === 0) return AS_BEFORE
  try {
    const { stays, archive } = await archiveAndUndo(directory, previous, migrated)
    if (stays !== undefined) return ahead(stays)
    if (archive === undefined) return AS_BEFORE
    return `${AS_BEFORE} An archive has the database from before its migrations were undone: ${restoreCommand(directory, archive)}`
  } catch (error) {
    return ahead((error as Error).message)
  }
}

const AS_BEFORE = 'Data and modules are the same as before.'

const ahead = (reason: string) =>
  `The schema stays newer than the previous modules, which does no harm: ${reason}`
