import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Engine } from '@mortise/module-sdk'
import { setCurrentTime } from '@mortise/module-sdk/current-time'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { acquireFileLock, createPrivateFile, databaseLockFile } from './files/file-lock.ts'
import { makeFolder } from './files/make-folder.ts'
import { syncPath } from './files/sync-path.ts'
import { isFull, isLocked, NoDatabaseError, StorageBusyError } from './port/errors.ts'
import { MonotonicClock } from './port/monotonic-clock.ts'
import type { Outbox } from './port/steps.ts'
import type { DatabaseSchema, Storage, StorageObserver } from './port/storage.ts'
import { parsePostgresUrl } from './postgres/postgres-url.ts'
import { retryWhileBusy } from './sqlite/connection.ts'
import { toDatabaseError } from './sqlite/database-error.ts'
import { type Volume, volumeOf } from './sqlite/free-space.ts'
import { lockedFile } from './sqlite/locked-file.ts'
import { keepNewestTime, newestTimeOf } from './sqlite/newest-time.ts'
import { openReader, openWriter } from './sqlite/open-connections.ts'
import type { OnSlowRead } from './sqlite/reads.ts'
import { rewriteLog } from './sqlite/rewrite-log.ts'
import { adoptSchema } from './sqlite/schema.ts'
import { SqliteStorage } from './sqlite/sqlite-storage.ts'

/** A SQLite file, created if needed, for its owner only; or a PostgreSQL database. */
export type DatabaseAddress = { readonly file: string } | { readonly url: string }

export function engineOf(place: DatabaseAddress): Engine {
  if ('file' in place) return 'sqlite'
  if ('url' in place) return 'postgres'
  return place satisfies never
}

export interface OpenOptions {
  /**
   * The disk or the file can no longer be trusted: the process must end (exit 70). SQLite only; if
   * absent, the error is thrown.
   */
  readonly onFatal?: (error: Error) => void
  /**
   * Called with the error when checkpoints begin to fail, without one when they succeed again, and
   * with the error of the last one at the end; if absent, that error rejects `close`. SQLite only.
   */
  readonly onCheckpoint?: (failure: Error | undefined) => void
  /**
   * Called once for each statement that was slow on the event loop, although its read was not
   * declared as long; with its text and its milliseconds. SQLite only.
   */
  readonly onSlowRead?: OnSlowRead
  /** Creates a missing database; true by default. */
  readonly create?: boolean
  /** False for a process that may begin no thread: it does all work on its event loop. SQLite only. */
  readonly threads?: boolean
  /** False for a SQLite database that nobody keeps: a power failure may lose it. */
  readonly durable?: boolean
  /** For tests: rolls back a first run of every transaction, to reveal other side effects. */
  readonly rehearse?: boolean
  readonly outbox?: Outbox
  readonly observer?: StorageObserver
  /**
   * Refuses writes while the disk has fewer free bytes than `bytes` (see `reservedBytes`). SQLite
   * only; if absent, until the disk is full.
   */
  readonly keepFree?: { readonly bytes: number | undefined; readonly read?: () => Promise<Volume> }
  /**
   * Reads the URL again after the server has refused the user: a password may have changed. Undefined
   * without a URL of the same database. PostgreSQL only.
   */
  readonly renewUrl?: () => Promise<string | undefined>
  /** For a new SQLite database, as `schema()` of another one returns it. */
  readonly schema?: DatabaseSchema
}

export type StorageOptions = DatabaseAddress & OpenOptions

/**
 * Opens the database of one host.
 * @throws {StorageBusyError} if another host or command has the SQLite file open
 * @throws {DatabaseLockedError} if another session or process holds a lock for long
 * @throws {NoDatabaseError} if it is missing and must not be created
 * @throws {DatabaseError} `full`
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const {
    onFatal = rethrow,
    create = true,
    durable = true,
    threads = true,
    rehearse = false,
    schema,
    onCheckpoint,
    onSlowRead,
    outbox,
    observer,
    keepFree,
    renewUrl,
  } = options
  if ('url' in options) {
    // Loaded on demand: commands and probes of an application on SQLite do without the driver.
    const { openPostgres } = await import('./postgres/open-postgres.ts')
    return openPostgres(parsePostgresUrl(options.url), create, { rehearse, outbox, observer, renewUrl })
  }
  const path = resolve(options.file)
  if (!create && !existsSync(path)) throw new NoDatabaseError(`the file ${path} does not exist`)
  await makeFolder(dirname(path), 0o700)
  const newest = newestTimeOf(path)
  const lock = acquireFileLock(databaseLockFile(path))
  if (lock === undefined) {
    throw new StorageBusyError(
      `${path} is in use by another host or "app" command. Stop it, or use another database here`,
    )
  }
  try {
    createPrivateFile(path)
    rewriteLog(path)
    const writer = await retryWhileBusy(() => openWriter(path, durable ? 'NORMAL' : 'OFF'))
    try {
      // SQLite also syncs the names of the database and its log, but continues if that fails.
      if (durable) await syncPath(dirname(await realpath(path)))
      if (schema !== undefined) adoptSchema(writer, schema)
      const space = keepFree && {
        reservedBytes: keepFree.bytes,
        read: keepFree.read ?? (() => volumeOf(path)),
      }
      const reader = openReader(path)
      const clock = new MonotonicClock(
        () => Date.now(),
        newest,
        (time) => keepNewestTime(path, time),
      )
      clock.now()
      const onClosed = setCurrentTime(() => clock.now())
      return new SqliteStorage({
        ...{ writer, reader, lock, onFatal, onCheckpoint, onSlowRead, rehearse, outbox, observer, space },
        threads,
        onClosed,
      })
    } catch (error) {
      writer.database.close()
      throw error
    }
  } catch (error) {
    lock.release()
    const known = toDatabaseError(error, 'opening it', path)
    if (isLocked(known)) throw lockedFile(path, known)
    if (isFull(known))
      throw new DatabaseError('full', `${path} cannot be opened: its disk is full`, { cause: known })
    const reason = `${path} cannot be opened: ${(error as Error).message}. Is it a SQLite database, and may this user write to it?`
    throw Object.assign(new Error(reason, { cause: error }), { path })
  }
}

function rethrow(error: Error): never {
  throw error
}
