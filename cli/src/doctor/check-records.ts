import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readGenerations, readPendingRecords, syncPath, UnreadableFileError } from '@mortise/host'
import { unusedPath } from '../application/unused-path.ts'
import { journalFile, readJournal, restorationFile } from '../changes/journal.ts'
import { readRestoration } from '../data/restore-journal.ts'
import { asFailure } from '../terminal/explain.ts'
import type { FixableFinding } from './finding.ts'

/** Whether the records of commands in `.app/` can be read. */
export async function checkRecords(directory: string): Promise<FixableFinding[]> {
  const journal = await failureOf(readJournal(directory))
  const restoration = await failureOf(readRestoration(directory))
  const { unreadable } = await readGenerations(directory)
  const audit: unknown[] = []
  await readPendingRecords(directory, (error) => audit.push(error))
  return [
    ...(journal === undefined ? [] : [journalTrouble(journalFile(directory), journal)]),
    ...(restoration === undefined ? [] : [restorationTrouble(restorationFile(directory), restoration)]),
    ...unreadable.map(({ file, generation, error }) => generationTrouble(file, generation, error)),
    ...audit.map(auditTrouble),
  ]
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error) => error,
  )
}

function journalTrouble(file: string, error: unknown): FixableFinding {
  const what =
    'It says which change a killed command has left, and no command changes anything until it is gone.'
  const hint = `Put it back from a backup of the folder, or run "app doctor --fix": it keeps the file as ${file}.unreadable, and the application goes on as modules.lock.json says.`
  return { ...unreadable(error, 'error', what, hint), ...settingAside(error) }
}

/**
 * This journal is not moved aside: without it, the files beside their places cannot be assigned.
 */
function restorationTrouble(file: string, error: unknown): FixableFinding {
  const what = 'It says which restoration a killed command has left: data and lock may not belong together.'
  const hint = `Move it away (mv ${file} ${file}.unreadable) and restore the same archive again, with the host stopped: app restore <file>`
  return unreadable(error, 'error', what, hint)
}

function generationTrouble(file: string, generation: number, error: unknown): FixableFinding {
  const what = `Generation ${generation} cannot be gone back to, and the store keeps all packages meanwhile.`
  const hint = `Put it back from a backup of the folder, or run "app doctor --fix": it keeps the file as ${file}.unreadable.`
  return { ...unreadable(error, 'warning', what, hint), ...settingAside(error) }
}

function auditTrouble(error: unknown): FixableFinding {
  const what = 'It is a record for the audit trail that is not in the database yet.'
  const hint =
    'Put it back from a backup of the folder, or run "app doctor --fix": it keeps the file as ….unreadable.'
  return { ...unreadable(error, 'warning', what, hint), ...settingAside(error) }
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
function settingAside(error: unknown): Pick<FixableFinding, 'mend'> {
  const { file, path, code } = error as UnreadableFileError & NodeJS.ErrnoException
  const broken = error instanceof UnreadableFileError ? file : code === 'EISDIR' ? path : undefined
  if (broken === undefined) return {}
  return {
    async mend() {
      const aside = unusedPath(`${broken}.unreadable`)
      await rename(broken, aside)
      await syncPath(dirname(aside))
      return `Set aside as ${aside}.`
    },
  }
}
