import { existsSync } from 'node:fs'
import { copyFile, rename, rm } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import {
  keptTables,
  type LockFile,
  lockFilePath,
  readIdentity,
  removeDatabaseIdentity,
  removeIdentity,
  secretFile,
  writeIdentity,
  writeLockFile,
} from '@mortise/application'
import {
  type DatabaseAddress,
  readFileContents,
  readOptionalText,
  syncPath,
  toSqlite,
  writeDurably,
} from '@mortise/storage'
import { changeRecord } from '../changes/audit-record.ts'
import { lastLockFile } from '../changes/lost-lock-file.ts'
import { storedMigrations } from '../store/stored-migrations.ts'
import {
  carryOutRestoration,
  removeUndecided,
  restoredFile,
  whileNoHost,
  withDatabaseLock,
} from './restore-journal.ts'

export interface Replacement {
  readonly directory: string
  readonly command: string
  /** The origin of the data, for the audit trail. */
  readonly from: string
  /** The new lock file, with a generation of its own. */
  readonly lock: LockFile
  readonly database: DatabaseAddress
  /** A copy of the database with the new data. A SQLite file is moved into place. */
  readonly data: string
  /** The other files to replace, each with its replacement. */
  readonly sources?: ReadonlyMap<string, string>
  /** Another database that no host may have open in the meantime. */
  readonly other?: DatabaseAddress
}

/**
 * Replaces data and lock file together. After a kill, the next command or start completes it.
 * @returns the place of the previous data: a file relative to the application folder, or a schema;
 * null if there were none
 * @throws {Failure} if a host runs, before any change
 * @throws {MigrationError} if the database cannot take the data, before any change
 */
export async function replaceData(replacement: Replacement): Promise<string | null> {
  const { directory, database, other, lock, sources = new Map<string, string>() } = replacement
  const places = [database, ...(other ? [other] : [])].flatMap((place) =>
    'file' in place ? [place.file] : [],
  )
  return await withDatabaseLock([...new Set(places)], async () => {
    // The new lock file is written first and moved into place last: see `removeUndecided`.
    await writeLockFile(directory, lock, restoredFile(lockFilePath(directory)))
    const { previous, hadData } = await prepared(replacement).catch(async (error) => {
      await removeUndecided(directory)
      throw error
    })
    for (const [place, source] of sources) {
      await putBeside(place, source)
      await keep(place, lock.generation)
    }
    if (sources.has(secretFile(directory))) await forgetSecret(directory)
    const own = 'file' in database ? [database.file] : []
    const files = [...own, ...sources.keys(), lockFilePath(directory)]
    const { command, from } = replacement
    const record = changeRecord(command, await lastLockFile(directory), lock, from)
    await carryOutRestoration(directory, { command, record, lock, database, previous, files })
    if (!hadData) return null
    return 'file' in database ? relative(directory, previous) : previous
  })
}

/** Puts the new data beside the present ones. */
async function prepared({ directory, database, data, lock }: Replacement) {
  const isEmpty = readFileContents(data).ledger.length === 0
  if ('url' in database) {
    await removeDatabaseIdentity(directory, isEmpty)
    const sets = await storedMigrations(directory)
    return await whileNoHost(({ stageSchema }) =>
      stageSchema(database.url, data, sets, lock.generation, keptTables),
    )
  }
  toSqlite(data)
  const own = (await readIdentity(directory))?.database?.id
  if (!removeIdentity(data, own)) await removeDatabaseIdentity(directory, isEmpty)
  await putBeside(database.file, data)
  const previous = `${database.file}.before-generation-${lock.generation}`
  return { previous, hadData: existsSync(database.file) }
}

/** Where a restoration keeps the configuration or the secret that it replaces. */
export const previousFile = (file: string, generation: number) => `${file}.before-generation-${generation}`

async function keep(file: string, generation: number): Promise<void> {
  const text = await readOptionalText(file)
  if (text !== undefined) await writeDurably(previousFile(file, generation), text)
}

/** The next start accepts the secret that it finds. */
async function forgetSecret(directory: string): Promise<void> {
  const identity = await readIdentity(directory)
  if (identity) await writeIdentity(directory, { ...identity, secret: null })
}

/** For people: a file, or a schema. Names of schemas have no dot. */
export const previousName = (previous: string) =>
  previous.includes('.') ? previous : `the schema ${previous}`

/** Puts a verified part beside its final place: on the same file system, and synced. */
async function putBeside(place: string, source: string): Promise<void> {
  const beside = restoredFile(place)
  await rm(beside, { force: true })
  try {
    await rename(source, beside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyFile(source, beside)
  }
  await syncPath(beside)
  await syncPath(dirname(beside))
}
