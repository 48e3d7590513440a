import { existsSync } from 'node:fs'
import { many, maybeOne, run, sql, type Transaction } from '@mortise/module-sdk'
import { type AppliedMigration, changeDatabaseFile, readDatabaseFile, type Storage } from '@mortise/storage'

/** The id of a database; null where it has none yet, undefined where no application is in it. */
export type DatabaseId = string | null | undefined

/** The tables that each database has rows of its own in: these go nowhere with other data. */
export const keptTables = ['mortise_identity']

export const recordedId = sql`SELECT id FROM mortise_identity`

/** @param applied what the ledger has */
export function* findDatabaseId(applied: readonly AppliedMigration[]): Transaction<DatabaseId> {
  if (applied.length === 0) return undefined
  const canHave = applied.some(({ module, name }) => module === 'host' && name === '010-identity')
  if (!canHave) return null
  return (yield* maybeOne<{ id: string }>(recordedId))?.id ?? null
}

export async function readDatabaseId(storage: Storage): Promise<DatabaseId> {
  const applied = await storage.applied()
  return await storage.snapshot(() => findDatabaseId(applied))
}

/** The id of a SQLite file that others may have open; undefined also where there is no file. */
export const readFileId = (file: string): DatabaseId =>
  existsSync(file) ? readDatabaseFile(file, findDatabaseId) : undefined

/**
 * Takes the id out of a database file, unless it is `own`: data that come from elsewhere are a database of their own.
 * @returns whether it is
 */
export function removeIdentity(file: string, own: string | undefined): boolean {
  return changeDatabaseFile(file, function* () {
    const tables = yield* many(sql`SELECT 1 FROM sqlite_schema WHERE name = 'mortise_identity'`)
    if (tables.length === 0) return false
    yield* run(sql`DELETE FROM mortise_identity WHERE id IS NOT ${own ?? null}`)
    return (yield* maybeOne(recordedId)) !== undefined
  })
}
