import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseError } from '@mortise/module-sdk'
import type SqliteDatabase from 'better-sqlite3'
import { syncPath } from '../../sync-path.ts'
import { MigrationError } from '../storage.ts'
import { createPrivateFile } from './file-lock.ts'
import { openDatabase } from './open-database.ts'

/** After how many steps of 100 pages (400 KiB) what was copied is sent on to the disk. */
const STEPS_PER_SYNC = 20

/**
 * Writes a copy of the database as of one moment, the last one, to `file`, while the event loop goes on: in steps
 * of a fraction of a millisecond between which the connection may write; SQLite takes its changes over. Without
 * syncing on the way the last step, which makes the copy durable, would block for all of it (measured with
 * 210 MB: 120 ms, so 25 ms; VACUUM INTO in a thread delayed the COMMITs of others for 145 ms, and changes rowids).
 *
 * @throws {Error} where it cannot be written; nothing is left then
 */
export async function copyDatabase(source: SqliteDatabase.Database, file: string): Promise<void> {
  await writeDatabase(file, async (temporary, handle) => {
    await backUp(source, temporary, handle)
    // A copy of a database in WAL mode is in that mode too, and would need a file beside it to be read.
    // Gone: the command that asked for it was killed, and the next one has removed what it left.
    const copy = openDatabase(temporary, { fileMustExist: true })
    copy.pragma('journal_mode = DELETE')
    copy.close()
  })
}

/**
 * Has `write` make a database in a file beside, and gives it its name when it is on the disk.
 * @throws {Error} where it cannot be written; nothing is left then
 */
export async function writeDatabase(
  file: string,
  write: (temporary: string, handle: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    createPrivateFile(temporary)
    const handle = await open(temporary, 'r+')
    try {
      await write(temporary, handle)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
    await syncPath(dirname(file))
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(temporary + suffix, { force: true })
    if (error instanceof MigrationError || error instanceof DatabaseError) throw error
    const reason = `the database cannot be copied to ${file}: ${(error as Error).message}. Is there room?`
    // Wrong is what is copied then, and not the copy.
    const isSource = /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '')
    throw Object.assign(new Error(reason, { cause: error }), isSource ? {} : { path: file })
  }
}

async function backUp(source: SqliteDatabase.Database, file: string, handle: FileHandle): Promise<void> {
  let steps = 0
  let syncing: Promise<void> | undefined
  try {
    await source.backup(file, {
      progress() {
        steps += 1
        if (steps % STEPS_PER_SYNC === 0) {
          // Where it fails, so does the last one, which is waited for.
          syncing ??= handle
            .datasync()
            .catch(() => {})
            .finally(() => {
              syncing = undefined
            })
        }
        return 100
      },
    })
  } finally {
    await syncing
  }
}
