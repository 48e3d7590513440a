import { closeSync, existsSync, fsyncSync, openSync, readSync, realpathSync, writeSync } from 'node:fs'
import { acquireFileLock, databaseLockFile } from '../files/file-lock.ts'
import { isWritable } from '../files/is-writable.ts'

/** The part of the log in memory at a time, in bytes. */
const PIECE = 1024 * 1024

/**
 * Rewrites the log (`-wal`) of a database with its own bytes and syncs it, if its host did not stop
 * cleanly. Call it before SQLite opens the file, under the database lock.
 *
 * After a failed fsync, Linux returns the written data on reads but no longer writes them to the
 * disk: a later fsync succeeds without them. SQLite would consider such a log complete, append
 * commits that a power failure cuts off with it, and copy it into the database. The bytes are the
 * same, so a crash at any point is harmless. The database file needs no rewrite: SQLite repeats a
 * copy until it is synced, and the data stay in the log until then.
 *
 * @throws {NodeJS.ErrnoException} with the log as `path`, if the disk fails: the database must not
 * be opened then
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
 * The same for a connection that does not own the database: the last one to close copies the log
 * into it. If the lock is taken, its holder has rewritten the log; a user without write permission
 * copies nothing.
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

/** The log's path: beside the file itself, not beside a link to it. Undefined without a log. */
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
