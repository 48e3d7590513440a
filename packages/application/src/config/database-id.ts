import { existsSync } from 'node:fs'
import { many, maybeOne, run, sql, type Transaction } from '@mortise/module-sdk'
import {
  type AppliedMigration,
  changeDatabaseFile,
  readDatabaseFile,
  type Storage,
  StorageUnfitError,
} from '@mortise/storage'

/** The id of a database; null without an id, undefined without an application in it. */
export type DatabaseId = string | null | undefined

/** Tables with rows that belong to one database and never move with other data. */
export const keptTables = ['mortise_identity']

/**
 * Whether the host has made its tables.
 * @param applied the migrations in the ledger
 * @throws {StorageUnfitError} if they are those of a development version
 */
export function isMigrated(applied: readonly AppliedMigration[]): boolean {
  const first = applied.find(({ module }) => module === 'host')
  if (first === undefined || first.name === '001-host') return first !== undefined
  throw new StorageUnfitError(
    'a development version before 1.0 made this application, and its tables differ: ' +
      'export its data with that version, and make a new application',
  )
}

export const recordedId = sql`SELECT id FROM mortise_identity`

/** @throws {StorageUnfitError} for the database of a development version */
export function* findDatabaseId(applied: readonly AppliedMigration[]): Transaction<DatabaseId> {
  if (applied.length === 0) return undefined
  if (!isMigrated(applied)) return null
  return (yield* maybeOne<{ id: string }>(recordedId))?.id ?? null
}

export async function readDatabaseId(storage: Storage): Promise<DatabaseId> {
  const applied = await storage.applied()
  return await storage.snapshot(() => findDatabaseId(applied))
}

/** The id of a SQLite file that other processes may have open; undefined also without a file. */
export const readFileId = (file: string): DatabaseId =>
  existsSync(file) ? readDatabaseFile(file, findDatabaseId) : undefined

/**
 * Data from elsewhere form a database of their own.
 * @returns whether the id is `own`, and stays
 */
export function removeIdentity(file: string, own: string | undefined): boolean {
  return changeDatabaseFile(file, function* () {
    const tables = yield* many(sql`SELECT 1 FROM sqlite_schema WHERE name = 'mortise_identity'`)
    if (tables.length === 0) return false
    yield* run(sql`DELETE FROM mortise_identity WHERE id IS NOT ${own ?? null}`)
    return (yield* maybeOne(recordedId)) !== undefined
  })
}
