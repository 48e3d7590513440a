import { relative } from 'node:path'
import { readJournal } from '../changes/journal.ts'
import { restoreCommand } from '../data/archives.ts'
import { completeRestoration, readRestoration } from '../data/restore-journal.ts'
import { completeInterrupted } from '../install/apply/apply-change.ts'
import { findLeftovers, removeLeftovers } from '../store/leftovers.ts'
import type { AsyncFindings } from './finding.ts'

/** Finds the leftovers of killed commands. The next change of the application handles them too. */
export async function* checkInterrupted(directory: string): AsyncFindings {
  yield* restorationTrouble(directory)
  yield* journalTrouble(directory)
  yield* leftoverTrouble(directory)
}

/** Also undefined if a file cannot be read: the check of the records reports that. */
const legible = <Content>(content: Promise<Content>) => content.catch(() => undefined)

async function* restorationTrouble(directory: string): AsyncFindings {
  const restoration = await legible(readRestoration(directory))
  if (restoration === undefined) return
  const { command } = restoration
  yield {
    id: 'restoration-interrupted',
    severity: 'error',
    message: `"app ${command}" was interrupted. Data and lock file do not match until it is completed.`,
    hint: 'Stop the host, then run "app doctor --fix" to complete it.',
    async fix() {
      await completeRestoration(directory)
      return `Completed "app ${command}".`
    },
  }
}

async function* journalTrouble(directory: string): AsyncFindings {
  const journal = await legible(readJournal(directory))
  if (journal === undefined) return
  const { command } = journal
  yield {
    id: 'interrupted',
    severity: 'warning',
    message: `"app ${command}" was interrupted. The application runs in the state before or after it, and the schema may be newer.`,
    hint: 'Run it again, or run "app doctor --fix". Both complete it.',
    async fix() {
      try {
        const archive = (await completeInterrupted(directory))?.archive
        const way = archive ? ` To restore the dropped data: ${restoreCommand(directory, archive)}` : ''
        return `Completed "app ${command}".${way}`
      } catch (error) {
        if ((await readJournal(directory)) !== undefined) throw error
        return `It could not be completed and was reverted. ${(error as Error).message}`
      }
    },
  }
}

async function* leftoverTrouble(directory: string): AsyncFindings {
  const leftovers = await findLeftovers(directory)
  if (leftovers.length === 0) return
  yield {
    id: 'leftovers',
    severity: 'warning',
    message: `An interrupted command left ${leftovers.map((path) => relative(directory, path)).join(', ')}. They only use disk space.`,
    hint: 'The next command that changes the application removes them, as does "app doctor --fix".',
    async fix() {
      await removeLeftovers(directory)
      return 'Removed.'
    },
  }
}
