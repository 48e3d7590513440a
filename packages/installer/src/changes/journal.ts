import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  BegunRecord,
  firstError,
  GenerationNumber,
  isLockFile,
  type LockFile,
  type Outcome,
  writePendingRecord,
} from '@mortise/application'
import { type AppliedMigration, readJsonFile, writeDurably } from '@mortise/storage'

/**
 * A change in progress. All checks that can reject it come before this file is written. From then
 * on the change is completed, by this command or, after a kill, by the next one.
 */
export interface Journal {
  /** The command line: `module-install api-cart`. */
  readonly command: string
  /** For the audit trail. It stays the same if another command completes the change. */
  readonly record: BegunRecord
  /** The lock file before the change. */
  readonly previous: LockFile
  /**
   * The lock file after the change. Its generation follows that of `previous`, unless the change is
   * external.
   */
  readonly next: LockFile
  /** For an external `next`, which is already in modules.lock.json: the number of its record. */
  readonly external?: number
  /** The text of app.config.json, if the change is one of settings. */
  readonly config?: { readonly previous: string; readonly next: string } | undefined
  /** Migrations to undo after no host needs them any more, for the revert of an upgrade. */
  readonly undo: readonly AppliedMigration[]
}

export const journalFile = (directory: string) => join(directory, '.app', 'journal.json')
export const restorationFile = (directory: string) => join(directory, '.app', 'restore.json')

export async function writeJournal(directory: string, journal: Journal): Promise<void> {
  await writeDurably(journalFile(directory), `${JSON.stringify(journal, null, 2)}\n`)
}

/** @throws {UnreadableFileError} */
export async function readJournal(directory: string): Promise<Journal | undefined> {
  return await readJsonFile(journalFile(directory), isJournal)
}

const text = { type: 'string' }
const JournalFields = {
  type: 'object',
  required: ['command', 'record', 'previous', 'next', 'undo'],
  properties: {
    command: text,
    record: BegunRecord,
    external: GenerationNumber,
    config: { type: 'object', required: ['previous', 'next'], properties: { previous: text, next: text } },
    undo: {
      type: 'array',
      items: { type: 'object', required: ['module', 'name'], properties: { module: text, name: text } },
    },
  },
}

function isJournal(value: unknown): value is Journal {
  const { previous, next } = (value ?? {}) as Partial<Journal>
  return firstError(JournalFields, value) === undefined && isLockFile(previous) && isLockFile(next)
}

export async function removeJournal(directory: string): Promise<void> {
  await rm(journalFile(directory), { force: true })
}

/** After a kill in between, the next command writes the same record again. */
export async function closeJournal(directory: string, { record }: Journal, outcome: Outcome): Promise<void> {
  await writePendingRecord(directory, { ...record, outcome })
  await removeJournal(directory)
}
