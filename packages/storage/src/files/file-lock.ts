import { closeSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { openDatabase } from './open-database.ts'

/** A lock that lasts until `release` or the death of its process. */
export interface FileLock {
  release(): void
}

/** The holder of the lock on this file has the database. */
export const databaseLockFile = (file: string) => `${resolve(file)}.lock`

/**
 * Takes the operating system's lock on `file`, and creates the file if needed; undefined if anyone
 * holds the lock, in this process or another. A process that holds it must not open and close the
 * file otherwise: POSIX drops a process's locks with any of its descriptors. SQLite handles that,
 * so SQLite holds the lock.
 * @throws {Error} with `file` as its `path`, if locking is impossible
 */
export function acquireFileLock(file: string): FileLock | undefined {
  createPrivateFile(file)
  let database: SqliteDatabase.Database | undefined
  try {
    database = openDatabase(file, { timeout: 0 })
    // Without it SQLite writes a journal, for which a full disk has no space.
    database.pragma('journal_mode = MEMORY')
    // EXCLUSIVE could refuse two processes that try at the same time: it takes two locks.
    database.exec('BEGIN IMMEDIATE')
  } catch (error) {
    database?.close()
    if (error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined
    throw Object.assign(error as Error, { path: file })
  }
  const held = database
  return { release: () => void held.close() }
}

/** Creates an empty file for its owner only; leaves an existing one untouched. */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
