import { completeTakingBack, inTemporaryFolder, readLock } from '@mortise/host'
import { beginInClone } from '../application/application-folder.ts'
import { namingFullFolder } from '../application/naming-full-folder.ts'
import { whileLocked } from '../changes/command-lock.ts'
import { deliverRecords } from '../changes/deliver-records.ts'
import { interrupted } from '../changes/interrupted.ts'
import { readJournal } from '../changes/journal.ts'
import { restoreCommand } from '../data/archives.ts'
import { completeRestoration, isRestorationLeft } from '../data/restore-journal.ts'
import { removeLeftovers } from '../store/staging.ts'
import { Failure } from '../terminal/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { completeInterrupted } from './apply/apply-change.ts'
import { pruneStore } from './prune/prune-store.ts'

/** What cannot be completed is taken back, and no reason not to go on. */
async function completeOrSay(directory: string, terminal: Terminal): Promise<void> {
  try {
    const completed = await completeInterrupted(directory)
    if (completed === undefined) return
    const { command, archive } = completed
    terminal.note(`Completed "${command}", which had been interrupted.`)
    if (archive) terminal.note(`To bring back what it dropped: ${restoreCommand(directory, archive)}`)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const outcome = (await readJournal(directory)) === undefined ? 'was taken back' : 'is not complete'
    terminal.note(`A change that had been interrupted ${outcome}. ${error.message}`)
  }
}

/**
 * Does `work` as the only command that changes the application, after what a killed one may have left is
 * completed or removed.
 * @param command as it was called, for whoever finds the application busy
 */
export async function changeApplication<Result>(
  directory: string,
  command: string,
  terminal: Terminal,
  work: () => Promise<Result>,
): Promise<Result> {
  await beginInClone(directory)
  return await whileLocked(directory, command, async () => {
    const leftovers = await removeLeftovers(directory)
    if (leftovers > 0) {
      terminal.note(`Removed what a command that was interrupted had left in staging (${leftovers}).`)
    }
    const restored = await completeRestoration(directory)
    if (restored !== undefined) terminal.note(`Completed "${restored}", which had been interrupted.`)
    await completeTakingBack(directory)
    await completeOrSay(directory, terminal)
    try {
      const result = await namingFullFolder(directory, work)
      // Those of older generations, and of a command that was killed before it had written its journal.
      await pruneStore(directory, await readLock(directory))
      return result
    } finally {
      await removeLeftovers(directory)
      await deliverRecords(directory)
    }
  })
}

/**
 * Works out a change in a folder of its own that is gone afterwards, while no command changes the application.
 * Nothing is completed or removed either.
 * @throws {Failure} where a change that was killed is to be completed first
 */
export async function planChange<Result>(
  directory: string,
  command: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  return await whileLocked(directory, command, async () => {
    if (isRestorationLeft(directory) || (await readJournal(directory)) !== undefined) throw interrupted()
    return await inTemporaryFolder(directory, (folder) => namingFullFolder(directory, () => work(folder)))
  })
}
