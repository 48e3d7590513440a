import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readGenerations, readPendingRecords } from '@mortise/application'
import { unusedPath } from '@mortise/application/folder'
import { syncPath, UnreadableFileError } from '@mortise/storage'
import { journalFile, readJournal, restorationFile } from '../changes/journal.ts'
import { readRestoration } from '../data/restore-journal.ts'
import { asFailure } from '../reporting/explain.ts'
import type { AsyncFindings, FixableFinding } from './finding.ts'

export async function* checkRecords(directory: string): AsyncFindings {
  const journal = await failureOf(readJournal(directory))
  const restoration = await failureOf(readRestoration(directory))
  const { unreadable } = await readGenerations(directory)
  const audit: unknown[] = []
  await readPendingRecords(directory, (error) => audit.push(error))
  if (journal !== undefined) yield journalTrouble(journalFile(directory), journal)
  if (restoration !== undefined) yield restorationTrouble(restorationFile(directory), restoration)
  for (const { file, generation, error } of unreadable) yield generationTrouble(file, generation, error)
  yield* audit.map(auditTrouble)
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error) => error,
  )
}

function journalTrouble(file: string, error: unknown): FixableFinding {
  const what =
    'It records the unfinished change of a killed command. No command changes anything while it is there.'
  const hint = `Restore it from a backup of the folder, or run "app doctor --fix": it renames the file to ${file}.unreadable, and modules.lock.json applies.`
  return { ...unreadable(error, 'error', what, hint), ...renamingAside(error) }
}

/** Without this journal, the files beside their places cannot be assigned, so it stays. */
function restorationTrouble(file: string, error: unknown): FixableFinding {
  const what = 'It records the unfinished restore of a killed command: data and lock file may not match.'
  const hint = `Move it away (mv ${file} ${file}.unreadable) and restore the same archive again, with the host stopped: app restore <file>`
  return unreadable(error, 'error', what, hint)
}

function generationTrouble(file: string, generation: number, error: unknown): FixableFinding {
  const what = `The application cannot go back to generation ${generation}, and the store keeps all packages until this is fixed.`
  const hint = `Restore it from a backup of the folder, or run "app doctor --fix": it renames the file to ${file}.unreadable.`
  return { ...unreadable(error, 'warning', what, hint), ...renamingAside(error) }
}

function auditTrouble(error: unknown): FixableFinding {
  const what = 'It is a record of the audit trail that is not in the database yet.'
  const hint =
    'Restore it from a backup of the folder, or run "app doctor --fix": it renames the file to ….unreadable.'
  return { ...unreadable(error, 'warning', what, hint), ...renamingAside(error) }
}

const unreadable = (
  error: unknown,
  severity: FixableFinding['severity'],
  what: string,
  hint: string,
): FixableFinding => ({
  id: 'file-unreadable',
  severity,
  message: `${asFailure(error).message} ${what}`,
  hint,
})

/** Moves a broken file aside, but not one that this user may not read. */
function renamingAside(error: unknown): Pick<FixableFinding, 'fix'> {
  const { file, path, code } = error as UnreadableFileError & NodeJS.ErrnoException
  const broken = error instanceof UnreadableFileError ? file : code === 'EISDIR' ? path : undefined
  if (broken === undefined) return {}
  return {
    async fix() {
      const aside = unusedPath(`${broken}.unreadable`)
      await rename(broken, aside)
      await syncPath(dirname(aside))
      return `Renamed to ${aside}.`
    },
  }
}
