import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  acquireFileLock,
  callRunningHost,
  configFile,
  type DatabaseAddress,
  databaseLockFile,
  isLockFile,
  type Lock,
  lockFilePath,
  makeFolder,
  postgresData,
  readConfig,
  readJsonFile,
  recordGeneration,
  StorageBusyError,
  StorageUnreachableError,
  secretFile,
  syncPath,
  writeDurably,
  writePendingRecord,
} from '@mortise/host'
import type { BegunRecord } from '../changes/audit-record.ts'
import { restorationFile } from '../changes/journal.ts'
import { databaseServed, hostRunning } from '../failures/index.ts'

// A restoration is decided when its journal is written: until then nothing is touched. Everything that it names lies
// complete and durable beside its place by then, as `<file>.restored`, so that what is left are renames, which
// the next command, or the next start, carries out where this one is killed. No host can begin meanwhile: the lock of the
// database is held.

export interface Restoration {
  /** As it was called: `restore shop.tgz`. */
  readonly command: string
  /** For the audit trail of the data that are put back. */
  readonly record: BegunRecord
  readonly lock: Lock
  /** What was there is kept as `former`: a file, or a schema. */
  readonly database: DatabaseAddress
  readonly former: string
  /** All files that are replaced: that of the database first, the lock last. */
  readonly files: readonly string[]
}

export const restoredFile = (file: string) => `${file}.restored`

/** Decides a restoration, and carries it out. The lock of the database is held. */
export async function carryOutRestoration(directory: string, restoration: Restoration): Promise<void> {
  await writeDurably(restorationFile(directory), `${JSON.stringify(restoration, null, 2)}\n`)
  await moveIntoPlace(directory, restoration)
}

/**
 * Completes the restoration that a killed command has left.
 * @returns the command that it was, undefined where there was none
 * @throws {Failure} where a host has the database
 * @throws {UnreadableFileError} where what was decided cannot be read: nothing is touched then
 */
export async function completeRestoration(directory: string): Promise<string | undefined> {
  if (!isRestorationLeft(directory)) {
    await removeUndecided(directory)
    return undefined
  }
  const restoration = await readRestoration(directory)
  if (restoration === undefined) return undefined
  const { database } = restoration
  await withDatabaseLock('file' in database ? [database.file] : [], () =>
    moveIntoPlace(directory, restoration),
  )
  return restoration.command
}

/** The restoration that a killed command has left, if any. @throws {UnreadableFileError} */
export const readRestoration = (directory: string): Promise<Restoration | undefined> =>
  readJsonFile(restorationFile(directory), isRestoration)

function isRestoration(value: unknown): value is Restoration {
  const { command, record, lock, database, former, files } = (value ?? {}) as Partial<Restoration>
  return (
    typeof command === 'string' &&
    typeof record === 'object' &&
    isLockFile(lock) &&
    typeof database === 'object' &&
    typeof former === 'string' &&
    Array.isArray(files)
  )
}

export const isRestorationLeft = (directory: string) => existsSync(restorationFile(directory))

/** Keeps every host from these databases while `work` is done. @throws {Failure} where one runs */
export async function withDatabaseLock<Result>(
  [file, ...others]: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (file === undefined) return await work()
  await makeFolder(dirname(file), 0o700)
  const lock = acquireFileLock(databaseLockFile(file))
  if (lock === undefined) throw hostRunning()
  try {
    return await withDatabaseLock(others, work)
  } finally {
    lock.release()
  }
}

/** Does `work` with data on PostgreSQL. @throws {Failure} where a host serves from there, on whichever machine */
export async function whileNoHost<Result>(
  work: (data: Awaited<ReturnType<typeof postgresData>>) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(await postgresData())
  } catch (error) {
    throw error instanceof StorageBusyError ? databaseServed({ reason: error.message, cause: error }) : error
  }
}

/** @throws {Failure} where a host runs */
export async function assertStopped(directory: string): Promise<void> {
  if ((await callRunningHost(directory, 'state')) !== undefined) throw hostRunning()
}

/** What a restoration that was killed before it was decided has put beside its place. */
export async function removeUndecided(directory: string): Promise<void> {
  const mark = restoredFile(lockFilePath(directory))
  if (!existsSync(mark)) return
  const { databaseFile, database } = await readConfig(directory)
  if (databaseFile === undefined) {
    const { dropStaged } = await postgresData()
    await dropStaged(database).catch((error) => {
      // The next restoration drops it as well.
      if (!(error instanceof StorageUnreachableError)) throw error
    })
  }
  for (const file of [databaseFile, configFile(directory), secretFile(directory)]) {
    if (file !== undefined) await rm(restoredFile(file), { force: true })
  }
  await rm(mark)
}

async function moveIntoPlace(directory: string, restoration: Restoration): Promise<void> {
  const { command, record, lock, database, former, files } = restoration
  await recordGeneration(directory, command, lock)
  if ('url' in database) await whileNoHost((data) => data.replaceSchema(database.url, former))
  for (const file of files) {
    // Gone: an earlier attempt has moved it already, and may have ended before the sync.
    if (existsSync(restoredFile(file))) {
      if ('file' in database && file === database.file) await setAside(file, former)
      await rename(restoredFile(file), file)
    }
    await syncPath(dirname(file))
  }
  await writePendingRecord(directory, { ...record, outcome: 'done' })
  await rm(restorationFile(directory))
  await syncPath(dirname(restorationFile(directory)))
}

/** Together with its log, which SQLite would otherwise replay onto whatever database has its name. */
async function setAside(database: string, former: string): Promise<void> {
  for (const suffix of ['-wal', '-journal', '']) {
    if (existsSync(database + suffix)) await rename(database + suffix, former + suffix)
  }
  await rm(`${database}-shm`, { force: true })
  await syncPath(dirname(database))
}
