import { type Lock, recordGeneration, writeLockFile } from '@mortise/host'
import { closeJournal, type Journal } from '../../changes/journal.ts'
import { restoreCommand } from '../../data/archives.ts'
import { activationFailed, type Failure } from '../../failures/index.ts'
import { activate } from './activate.ts'
import type { Applied } from './migrate.ts'
import { undoMigrations } from './undo-migrations.ts'
import { replaceConfig } from './write-lock-file.ts'

/**
 * Writes the former lock file as a new generation, and undoes the migrations of the change if
 * possible.
 */
export async function takeBack(
  directory: string,
  journal: Journal,
  migrated: Applied,
  reason: string,
): Promise<Failure> {
  const { command, next, config } = journal
  const back = backOf(journal)
  if (config) await replaceConfig(directory, config.next, config.former)
  await writeLockFile(directory, back)
  await recordGeneration(directory, takenBack(command), back, { takesBack: next.generation, reason })
  const outcome = await activate(directory)
  const schema = await undoneOrSaid(directory, journal.former, migrated)
  await closeJournal(directory, journal, 'taken back')
  const where =
    outcome === 'served' ? 'The former modules are back and serving.' : 'The lock is back as it was.'
  return activationFailed({ reason, where, schema })
}

/** The lock file of a revert. */
export const backOf = ({ former, next }: Journal): Lock => ({ ...former, generation: next.generation + 1 })
/** The entry for it in the history. */
export const takenBack = (command: string) => `${command} (taken back)`

/** Keeps an external lock file, and undoes its migrations if possible. */
export async function leaveLock(
  directory: string,
  journal: Journal,
  migrated: Applied,
  reason: string,
): Promise<Failure> {
  const schema = await undoneOrSaid(directory, journal.former, migrated)
  await closeJournal(directory, journal, 'taken back')
  return activationFailed({ reason, where: 'It goes on serving the former modules.', schema })
}

async function undoneOrSaid(directory: string, former: Lock, migrated: Applied): Promise<string> {
  if (migrated.length === 0) return AS_BEFORE
  try {
    const { stays, archive } = await undoMigrations(directory, former, migrated)
    if (stays !== undefined) return ahead(stays)
    if (archive === undefined) return AS_BEFORE
    return `${AS_BEFORE} An archive of the database from before its migrations were undone is kept: ${restoreCommand(directory, archive)}`
  } catch (error) {
    return ahead((error as Error).message)
  }
}

const AS_BEFORE = 'Data and former modules are as they were.'

const ahead = (reason: string) =>
  `The schema stays ahead of the former modules, which does no harm: ${reason}`
