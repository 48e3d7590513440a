import { HostRefusedError } from '@mortise/host'
import { readJournal } from '../../changes/journal.ts'
import { restoreCommand } from '../../data/archives.ts'
import { Failure } from '../../failures/index.ts'
import { asFailure } from '../../terminal/explain.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { completeInterrupted } from './apply-change.ts'

/**
 * Completes the work of a killed command. A change that cannot be completed is reverted, and the
 * caller continues.
 */
export async function completeOrSay(directory: string, terminal: Terminal): Promise<void> {
  try {
    const completed = await completeInterrupted(directory)
    if (completed === undefined) return
    const { command, archive } = completed
    terminal.note(`Completed "${command}", which had been interrupted.`)
    if (archive) terminal.note(`To bring back what it dropped: ${restoreCommand(directory, archive)}`)
  } catch (error) {
    if (!(error instanceof Failure || error instanceof HostRefusedError)) throw error
    const outcome = (await readJournal(directory)) === undefined ? 'was taken back' : 'is not complete'
    terminal.note(`A change that had been interrupted ${outcome}. ${asFailure(error).message}`)
  }
}
