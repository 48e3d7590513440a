import { HostRefusedError } from '@mortise/host'
import { readJournal } from '../../changes/journal.ts'
import { restoreCommand } from '../../data/archives.ts'
import { Failure } from '../../failures/index.ts'
import { asFailure } from '../../reporting/explain.ts'
import type { Reporter } from '../../reporting/reporter.ts'
import { completeInterrupted } from './apply-change.ts'

/**
 * Completes the work of a killed command. A change that cannot be completed is reverted, and the
 * caller continues.
 */
export async function completeOrReport(directory: string, terminal: Reporter): Promise<void> {
  try {
    const completed = await completeInterrupted(directory)
    if (completed === undefined) return
    const { command, archive } = completed
    terminal.note(`Completed "${command}", which was interrupted.`)
    if (archive) terminal.note(`To restore the dropped data: ${restoreCommand(directory, archive)}`)
  } catch (error) {
    if (!(error instanceof Failure || error instanceof HostRefusedError)) throw error
    const outcome = (await readJournal(directory)) === undefined ? 'was reverted' : 'is not complete'
    terminal.note(`An interrupted change ${outcome}. ${asFailure(error).message}`)
  }
}
