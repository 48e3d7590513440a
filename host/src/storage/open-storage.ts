import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parsePostgresUrl } from './postgres/postgres-url.ts'
import { acquireFileLock, createPrivateFile } from './sqlite/file-lock.ts'
import { openReader, openWriter } from './sqlite/open-connections.ts'
import { adoptSchema } from './sqlite/schema.ts'
import { SqliteStorage } from './sqlite/sqlite-storage.ts'
import { type DatabaseSchema, type Storage, StorageBusyError, type StorageObserver } from './storage.ts'

/** A SQLite file, made with its folder if need be, for their owner only; or a PostgreSQL database. */
export type DatabasePlace = { readonly file: string } | { readonly url: string }

export interface OpenOptions {
  /** Called once when the disk or the file can no longer be trusted. The process has to end (exit 70). SQLite only. */
  readonly onFatal: (error: Error) => void
  /** For tests: runs every transaction twice, the first time undone, so that side effects beyond statements show. */
  readonly rehearse?: boolean
  readonly observer?: StorageObserver
  /** For a new SQLite database: the schema and the ledger to begin with, as `schema()` of another has answered. */
  readonly schema?: DatabaseSchema
}

export type StorageOptions = DatabasePlace & OpenOptions

/** Who holds the lock on this file has the database. */
export const databaseLockFile = (file: string) => `${resolve(file)}.lock`

/** Opens the database of one host. @throws {StorageBusyError} where another host or command has the SQLite file open */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { onFatal, rehearse = false, schema, observer } = options
  if ('url' in options) {
    // Its driver is loaded where it is needed: not by every command and probe of an application on SQLite.
    const { openPostgres } = await import('./postgres/open-postgres.ts')
    return openPostgres(parsePostgresUrl(options.url), { rehearse, observer })
  }
  const path = resolve(options.file)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const lock = acquireFileLock(databaseLockFile(path))
  if (lock === undefined) {
    throw new StorageBusyError(
      `${path} is in use by another host or "app" command. Stop that one, or give this one a database of its own`,
    )
  }
  try {
    createPrivateFile(path)
    const writer = openWriter(path)
    try {
      if (schema !== undefined) adoptSchema(writer, schema)
      return new SqliteStorage({ writer, reader: openReader(path), lock, onFatal, rehearse, observer })
    } catch (error) {
      writer.database.close()
      throw error
    }
  } catch (error) {
    lock.release()
    const reason = `${path} cannot be opened: ${(error as Error).message}. Is it a SQLite database, and may this user write to it?`
    throw Object.assign(new Error(reason, { cause: error }), { path })
  }
}
