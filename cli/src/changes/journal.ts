import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AppliedMigration,
  isLockFile,
  type Lock,
  type Outcome,
  readJsonFile,
  writeDurably,
  writePendingRecord,
} from '@mortise/host'
import type { BegunRecord } from './audit-record.ts'

/**
 * A change that has been decided and is being carried out. All that can refuse it has been asked before: what is
 * written here is completed, by this command or, where it is killed, by the next one.
 */
export interface Journal {
  /** As it was called: `module-install api-cart`. */
  readonly command: string
  /** For the audit trail: one, whoever completes the change. */
  readonly record: BegunRecord
  /** What was installed before. */
  readonly former: Lock
  /** What is to be installed; its generation follows that of `former`, unless it came from outside. */
  readonly next: Lock
  /** Where `next` came from outside, and is in modules.lock.json already: the number of its record. */
  readonly outside?: number
  /** The text of app.config.json, where the change is one of settings. */
  readonly config?: { readonly former: string; readonly next: string } | undefined
  /** Migrations to undo once nobody is served by what needs them: the way back from an upgrade. */
  readonly undo: readonly AppliedMigration[]
}

export const journalFile = (directory: string) => join(directory, '.app', 'journal.json')
/** The same of a restoration. */
export const restorationFile = (directory: string) => join(directory, '.app', 'restore.json')

export async function writeJournal(directory: string, journal: Journal): Promise<void> {
  await writeDurably(journalFile(directory), `${JSON.stringify(journal, null, 2)}\n`)
}

/** The change that a killed command has left, if any. @throws {UnreadableFileError} */
export async function readJournal(directory: string): Promise<Journal | undefined> {
  return await readJsonFile(journalFile(directory), isJournal)
}

function isJournal(value: unknown): value is Journal {
  const { command, record, former, next, undo } = (value ?? {}) as Partial<Journal>
  return (
    typeof command === 'string' &&
    typeof record === 'object' &&
    isLockFile(former) &&
    isLockFile(next) &&
    Array.isArray(undo)
  )
}

export async function removeJournal(directory: string): Promise<void> {
  await rm(journalFile(directory), { force: true })
}

/** Puts a change on record, and forgets it. Killed in between, the same record is left again. */
export async function closeJournal(directory: string, { record }: Journal, outcome: Outcome): Promise<void> {
  await writePendingRecord(directory, { ...record, outcome })
  await removeJournal(directory)
}
