import { closeSync, existsSync, fsyncSync, openSync, readSync, realpathSync, writeSync } from 'node:fs'
import { acquireFileLock, databaseLockFile } from '../files/file-lock.ts'
import { isWritable } from '../files/is-writable.ts'

/** How much of the log is in memory at a time, in bytes. */
const PIECE = 1024 * 1024

/**
 * Writes the log (`-wal`) of a database with its own bytes and syncs it, where its host was not stopped in good order.
 * To be called before SQLite opens the file, while nobody else may write it: whoever holds its lock.
 *
 * After a failed fsync, Linux answers reads with what was written but has forgotten to write it to the disk: a later
 * fsync succeeds without it. SQLite takes such a log for whole, appends commits that a loss of power cuts off with it,
 * and copies it into the database. The bytes are the same, so this may end anywhere. The database file needs none of
 * it: what SQLite copies there is copied again until it is synced, and stays in the log until then.
 *
 * @throws {NodeJS.ErrnoException} with `path`, the log, where the disk fails: the database must not be opened then
 */
export function rewriteLog(file: string): void {
  const log = logOf(file)
  if (log === undefined) return
  try {
    const handle = openSync(log, 'r+')
    try {
      rewrite(handle)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path: log })
  }
}

/**
 * The same for a connection that does not own the database: the last one to close copies the log into it. Where somebody
 * has its lock, they have rewritten the log; a user who may not write it copies nothing.
 */
export function rewriteLeftLog(file: string): void {
  const log = logOf(file)
  if (log === undefined || !isWritable(log)) return
  const lock = acquireFileLock(databaseLockFile(file))
  if (lock === undefined) return
  try {
    rewriteLog(file)
  } finally {
    lock.release()
  }
}

/** Where SQLite has the log: beside the file itself, not beside a link to it. Undefined where there is none. */
function logOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  const log = `${realpathSync(file)}-wal`
  return existsSync(log) ? log : undefined
}

function rewrite(handle: number): void {
  const piece = Buffer.alloc(PIECE)
  for (let position = 0; ; ) {
    const read = readSync(handle, piece, 0, PIECE, position)
    if (read === 0) return
    for (let written = 0; written < read; )
      written += writeSync(handle, piece, written, read - written, position + written)
    position += read
  }
}
