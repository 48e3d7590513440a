import { DatabaseError, type DatabaseErrorKind } from '@mortise/module-sdk/transaction'
import SqliteDatabase from 'better-sqlite3'
import { BrokenStorageError, isShortage, ShortageError, shortened } from '../port/errors.ts'
import { writeRefusal } from './write-refusal.ts'

const SHORTAGES = /^SQLITE_(?:CANTOPEN|NOMEM|IOERR_(?:GETTEMPPATH|NOMEM|SHMMAP)$)/

const KINDS: Readonly<Record<string, DatabaseErrorKind>> = {
  SQLITE_FULL: 'full',
  // The shared memory file, which holds nothing of its own, cannot grow.
  SQLITE_IOERR_SHMSIZE: 'full',
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign-key',
  SQLITE_CONSTRAINT_CHECK: 'check',
  SQLITE_CONSTRAINT_NOTNULL: 'not-null',
}

/**
 * Converts an error of SQLite or its driver to an engine-independent one; returns other errors
 * unchanged.
 * @param file of the database
 */
export function toDatabaseError(error: unknown, text: string, file: string): unknown {
  if (error instanceof SqliteDatabase.SqliteError) {
    const message = `${error.message} (${error.code}), in: ${shortened(text)}`
    // SQLite does not distinguish a broken disk from an exhausted quota.
    const refusal = error.code === 'SQLITE_IOERR_WRITE' ? writeRefusal(file) : undefined
    if (refusal !== undefined) return new DatabaseError('full', `${refusal}: ${message}`, { cause: error })
    if (SHORTAGES.test(error.code)) return new ShortageError(message, { cause: error })
    if (!(error.code in KINDS) && /^SQLITE_(?:IOERR|CORRUPT|NOTADB)/.test(error.code)) {
      return new BrokenStorageError(
        `the database file cannot be trusted: ${message}. Check the disk, then run "app doctor"`,
        { cause: error },
      )
    }
    const known = new DatabaseError(kindOf(error.code), message, { cause: error })
    if (known.kind === 'busy') return Object.assign(known, { path: file, code: error.code })
    return known.kind === 'full' || known.kind === 'read-only' ? Object.assign(known, { path: file }) : known
  }
  // The driver's own errors: values that do not match the placeholders, more than one statement.
  if (error instanceof RangeError || error instanceof TypeError) {
    const kind = error.message.includes('more than one statement') ? 'refused' : 'other'
    return new DatabaseError(kind, `${error.message}, in: ${shortened(text)}`, { cause: error })
  }
  return error
}

/**
 * Errors of the shared memory, which SQLite writes last: the log is on the disk by then, COMMIT
 * included.
 */
const AFTER_LOG = /^SQLITE_(?:NOMEM|IOERR_(?:NOMEM|SHM\w+)$)/

/**
 * Interprets a failed COMMIT: after a deferred constraint or a shortage nothing has happened;
 * otherwise the outcome is unknown until the next start.
 */
export function toCommitError(error: unknown, file: string): DatabaseError {
  const { code = '', message } = error as { code?: string; message: string }
  const known = toDatabaseError(error, 'COMMIT', file)
  const isKnown = isShortage(known) && !AFTER_LOG.test(code)
  if (isKnown || code.startsWith('SQLITE_CONSTRAINT')) return known as DatabaseError
  return new BrokenStorageError(
    `a transaction could not be committed: ${message} (${code}), in: ${file}. Check the disk`,
    { cause: error },
    'unknown-outcome',
  )
}

function kindOf(code: string): DatabaseErrorKind {
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) return 'busy'
  if (code.startsWith('SQLITE_READONLY')) return 'read-only'
  return KINDS[code] ?? 'other'
}
