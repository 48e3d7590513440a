import { existsSync } from 'node:fs'
import { many, maybeOne, run, sql, type Transaction } from '@mortise/module-sdk'
import { type AppliedMigration, changeDatabaseFile, readDatabaseFile, type Storage } from '@mortise/storage'

/** The id of a database; null without an id, undefined without an application in it. */
export type DatabaseId = string | null | undefined

/** Tables with rows that belong to one database and never move with other data. */
export const keptTables = ['mortise_identity']

/** The host's migrations that make tables which a command may find missing. */
const makers = {
  mortise_host: '002-host',
  mortise_audit: '007-audit',
  mortise_reaction: '009-reaction',
  mortise_lease: '005-lease',
  mortise_identity: '010-identity',
  mortise_job: '012-job',
} as const

/** False for a database migrated by an older host, or not at all. */
export const hasTable = (applied: readonly AppliedMigration[], table: keyof typeof makers): boolean =>
  applied.some(({ module, name }) => module === 'host' && name === makers[table])

export const recordedId = sql`SELECT id FROM mortise_identity`

/** @param applied the migrations in the ledger */
export function* findDatabaseId(applied: readonly AppliedMigration[]): Transaction<DatabaseId> {
  if (applied.length === 0) return undefined
  if (!hasTable(applied, 'mortise_identity')) return null
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
