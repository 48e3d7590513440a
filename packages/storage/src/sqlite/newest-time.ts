import { statSync, utimesSync } from 'node:fs'
import { databaseLockFile } from '../files/file-lock.ts'

/** The kernel's clock for files is behind by a tick. */
const TICK = 10

/**
 * When the database was last written, in epoch milliseconds, as far as its files know; 0 for a new
 * one. Read it before the database is opened.
 */
export function newestTimeOf(file: string): number {
  const times = [file, `${file}-wal`, databaseLockFile(file)].map((path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat === undefined ? 0 : Math.ceil(stat.mtimeMs) + TICK
  })
  return Math.max(...times)
}

/** Keeps a time that the clock has not reached yet for the next start. SQLite writes the other files. */
export function keepNewestTime(file: string, time: number): void {
  try {
    utimesSync(databaseLockFile(file), time / 1000, time / 1000)
  } catch {
    // The next start knows the times of the other files.
  }
}
