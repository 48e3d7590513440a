import { closeSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { openDatabase } from './open-database.ts'

/** A lock held until `release`, or until its process dies, however it dies. */
export interface FileLock {
  release(): void
}

/** Who holds the lock on this file has the database. */
export const databaseLockFile = (file: string) => `${resolve(file)}.lock`

/**
 * Takes the operating system's lock on `file`, made if need be; undefined where somebody holds it, in this
 * process or another. Nothing else may open and close the file in a process that holds it: POSIX drops a
 * process's locks with any of its descriptors. Hence SQLite, which minds that, holds it.
 * @throws {Error} with `file` as its `path`, where it cannot be taken at all
 */
export function acquireFileLock(file: string): FileLock | undefined {
  createPrivateFile(file)
  let database: SqliteDatabase.Database | undefined
  try {
    database = openDatabase(file, { timeout: 0 })
    // Without that it writes a journal, for which a full disk has no room.
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined
    throw Object.assign(error as Error, { path: file })
  }
  const held = database
  return { release: () => void held.close() }
}

/** Makes an empty file that only its owner reads, where there is none; leaves one that exists untouched. */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
