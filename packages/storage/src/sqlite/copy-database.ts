import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { createPrivateFile } from '../files/file-lock.ts'
import { syncPath } from '../files/sync-path.ts'
import { MigrationError } from '../port/errors.ts'
import type { CopyWork } from './copy-thread.ts'
import { runInThread } from './run-in-thread.ts'

/**
 * Copies the database in `source`, as of the start of the copy, to `file`, while others write.
 *
 * @throws {Error} if it cannot be written; nothing is left then
 */
export function copyDatabase(source: string, file: string): Promise<void> {
  return writeDatabase(file, async (temporary) => {
    await runInThread('copy-thread', { source, file: temporary } satisfies CopyWork)
  })
}

/**
 * Lets `write` make a database in a temporary file, and renames that once it is synced.
 * @throws {Error} if it cannot be written; nothing is left then
 */
export async function writeDatabase(
  file: string,
  write: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    createPrivateFile(temporary)
    const handle = await open(temporary, 'r+')
    try {
      await write(temporary)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
    await syncPath(dirname(file))
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(temporary + suffix, { force: true })
    if (error instanceof MigrationError || error instanceof DatabaseError) throw error
    const reason = `the database cannot be copied to ${file}: ${(error as Error).message}. Is there enough disk space?`
    const { code = '', path = file } = error as { code?: string; path?: string }
    // Then the source is damaged, not the copy.
    const isSource = /^SQLITE_(NOTADB|CORRUPT)/.test(code)
    const named = isSource ? {} : { path: path === temporary ? file : path }
    throw Object.assign(new Error(reason, { cause: error }), named)
  }
}
