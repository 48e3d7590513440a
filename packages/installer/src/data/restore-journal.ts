import { existsSync, realpathSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import {
  BegunRecord,
  configFile,
  firstError,
  isLockFile,
  type LockFile,
  lockFilePath,
  readConfig,
  recordGeneration,
  secretFile,
  writePendingRecord,
} from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import {
  acquireFileLock,
  type DatabaseAddress,
  databaseLockFile,
  makeFolder,
  postgresData,
  readJsonFile,
  StorageBusyError,
  StorageUnreachableError,
  syncPath,
  writeDurably,
} from '@mortise/storage'
import { restorationFile } from '../changes/journal.ts'
import { databaseServed, hostRunning } from '../failures/index.ts'

// The journal decides a restoration; until then nothing is touched. At that time every file that it
// names is complete and durable beside its place, as `<file>.restored`. Only renames remain, and
// after a kill the next command or start carries them out. The lock of the database keeps every
// host from starting in the meantime.

export interface Restoration {
  readonly command: string
  readonly record: BegunRecord
  readonly lock: LockFile
  /** The previous data stay as `previous`: a file, or a schema. */
  readonly database: DatabaseAddress
  readonly previous: string
  /** All files to replace: the database first, the lock file last. */
  readonly files: readonly string[]
}

export const restoredFile = (file: string) => `${file}.restored`

/** Decides a restoration and carries it out. Call this with the lock of the database. */
export async function carryOutRestoration(directory: string, restoration: Restoration): Promise<void> {
  await writeDurably(restorationFile(directory), `${JSON.stringify(restoration, null, 2)}\n`)
  await moveIntoPlace(directory, restoration)
}

/**
 * Completes the restoration that a killed command left.
 * @returns the command line of that command; undefined if there was none
 * @throws {Failure} if a host has the database open
 * @throws {UnreadableFileError} if the journal cannot be read; nothing is touched then
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

/** @throws {UnreadableFileError} */
export const readRestoration = (directory: string): Promise<Restoration | undefined> =>
  readJsonFile(restorationFile(directory), (value): value is Restoration => isRestoration(directory, value))

const text = { type: 'string' }
const RestorationFields = {
  type: 'object',
  required: ['command', 'record', 'lock', 'database', 'previous', 'files'],
  properties: {
    command: text,
    record: BegunRecord,
    database: {
      type: 'object',
      properties: { file: text, url: text },
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: false,
    },
    previous: text,
    files: { type: 'array', items: text, minItems: 1, maxItems: 4 },
  },
}
const BESIDE = /^\.before-generation-\d+$/
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/

/** It moves the files of the application, and its database, and no other. */
function isRestoration(directory: string, value: unknown): value is Restoration {
  const { lock, database, previous, files } = (value ?? {}) as Restoration
  if (firstError(RestorationFields, value) !== undefined || !isLockFile(lock)) return false
  const own = [lockFilePath(directory), configFile(directory), secretFile(directory)]
  if ('url' in database) return SCHEMA.test(previous) && files.every((file) => isOneOf(own, file))
  const { file } = database
  const isBeside = previous.startsWith(file) && BESIDE.test(previous.slice(file.length))
  return isBeside && file === resolve(file) && files.every((one) => one === file || isOneOf(own, one))
}

/** Whatever links the paths of their folders have. */
function isOneOf(places: readonly string[], file: string): boolean {
  const real = (place: string) => existsSync(dirname(place)) && realpathSync(dirname(place))
  return places.some((place) => basename(place) === basename(file) && real(place) === real(file))
}

export const isRestorationLeft = (directory: string) => existsSync(restorationFile(directory))

/** Keeps every host from these databases during `work`. @throws {Failure} if one runs */
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

/** @throws {Failure} if a host on any machine serves from there */
export async function whileNoHost<Result>(
  work: (data: Awaited<ReturnType<typeof postgresData>>) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(await postgresData())
  } catch (error) {
    throw error instanceof StorageBusyError ? databaseServed({ reason: error.message, cause: error }) : error
  }
}

/** @throws {Failure} if a host runs */
export async function assertStopped(directory: string): Promise<void> {
  if ((await callRunningHost(directory, 'state')) !== undefined) throw hostRunning()
}

/** Removes the files of a restoration that was killed before its decision. */
export async function removeUndecided(directory: string): Promise<void> {
  const mark = restoredFile(lockFilePath(directory))
  if (!existsSync(mark)) return
  const { databaseFile, database } = await readConfig(directory)
  if (databaseFile === undefined) {
    const { dropStaged } = await postgresData()
    await dropStaged(database).catch((error) => {
      // The next restoration drops it too.
      if (!(error instanceof StorageUnreachableError)) throw error
    })
  }
  for (const file of [databaseFile, configFile(directory), secretFile(directory)]) {
    if (file !== undefined) await rm(restoredFile(file), { force: true })
  }
  await rm(mark)
}

async function moveIntoPlace(directory: string, restoration: Restoration): Promise<void> {
  const { command, record, lock, database, previous, files } = restoration
  await recordGeneration(directory, command, lock)
  if ('url' in database) await whileNoHost((data) => data.replaceSchema(database.url, previous))
  for (const file of files) {
    // A missing file means that an earlier attempt moved it, perhaps without the sync.
    if (existsSync(restoredFile(file))) {
      if ('file' in database && file === database.file) await setAside(file, previous)
      await rename(restoredFile(file), file)
    }
    await syncPath(dirname(file))
  }
  await writePendingRecord(directory, { ...record, outcome: 'done' })
  await rm(restorationFile(directory))
  await syncPath(dirname(restorationFile(directory)))
}

/** Moves the database with its log, which SQLite would replay onto the next database. */
async function setAside(database: string, previous: string): Promise<void> {
  for (const suffix of ['-wal', '-journal', '']) {
    if (existsSync(database + suffix)) await rename(database + suffix, previous + suffix)
  }
  await rm(`${database}-shm`, { force: true })
  await syncPath(dirname(database))
}
