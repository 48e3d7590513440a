import { randomBytes } from 'node:crypto'
import type { DatabaseError } from '@mortise/module-sdk'
import { foreignChange } from '../migrations/foreign-change.ts'
import { type MigrationFile, readMigrations } from '../migrations/migration-files.ts'
import { planMigrations } from '../migrations/plan-migrations.ts'
import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, LedgerEntry, MigrationSet } from '../port/storage.ts'
import { readCatalog } from './catalog.ts'
import { type PostgresLedgerEntry, type Query, readLedger, recordMigration } from './ledger.ts'

/** A migration on this engine, and what it is on SQLite. */
export interface PortableMigration extends MigrationFile {
  readonly sqlite: MigrationFile
}

/** A set with its files. */
export interface ReadSet {
  readonly set: MigrationSet
  readonly files: readonly PortableMigration[]
}

/** @throws {MigrationError} where one of them is unreadable, refused, or not there for both engines */
export async function readSets(sets: readonly MigrationSet[]): Promise<ReadSet[]> {
  return Promise.all(
    sets.map(async (set) => {
      const own = await readMigrations(set, 'postgres')
      const sqlite = await readMigrations(set, 'sqlite')
      return { set, files: own.map((file, index) => ({ ...file, sqlite: sqlite[index] as MigrationFile })) }
    }),
  )
}

/** What `applyMigrations` would apply. */
export function pendingMigrations(
  sets: readonly ReadSet[],
  ledger: readonly LedgerEntry[],
): AppliedMigration[] {
  return sets.flatMap(({ set, files }) =>
    planMigrations(set, files, ledger).map(({ name }) => ({ module: set.module, name })),
  )
}

/** Applies what is pending, within a transaction. @throws {MigrationError} */
export async function applyMigrations(query: Query, sets: readonly ReadSet[]): Promise<AppliedMigration[]> {
  const applied: AppliedMigration[] = []
  const ledger = await readLedger(query)
  for (const { set, files } of sets) {
    const pending = planMigrations(set, files, ledger) as PortableMigration[]
    if (pending.length > 0) await rehearseAlone(query, set, files)
    for (const file of pending) {
      await applyOne(query, set, file)
      applied.push({ module: set.module, name: file.name })
    }
  }
  return applied
}

async function applyOne(query: Query, set: MigrationSet, file: PortableMigration): Promise<void> {
  const { module, tables } = set
  const { path, name, up, checksum, down, sqlite } = file
  await applyEntry(query, `${path} of ${module}`, {
    ...{ module, name, checksum, up, down, tables, appliedAt: Date.now() },
    ...{ sqliteUp: sqlite.up, sqliteDown: sqlite.down },
  })
}

/** Runs one migration and records it. @param what it is, for people */
export async function applyEntry(query: Query, what: string, entry: PostgresLedgerEntry): Promise<void> {
  const { up, tables } = entry
  const before = await readCatalog(query)
  await run(query, up, (reason) => `${what} failed: ${reason}. Nothing was changed; correct the file`)
  const change = foreignChange(tables, before, await readCatalog(query))
  if (change !== undefined) {
    throw new MigrationError(
      `${what} ${change}, but it may only touch "${tables}" and what begins with ` +
        `"${tables}_". Nothing was changed; correct the file`,
    )
  }
  await recordMigration(query, entry)
}

/**
 * Runs all migrations of a set in a schema where nothing else is, and undoes that. What reads or writes another
 * module's tables fails there: that it changes rows would not show in the catalog.
 */
async function rehearseAlone(
  query: Query,
  set: MigrationSet,
  files: readonly MigrationFile[],
): Promise<void> {
  const schema = `mortise_rehearsal_${randomBytes(6).toString('hex')}`
  await query('SAVEPOINT rehearsal')
  await query(`CREATE SCHEMA ${schema}`)
  await query(`SET LOCAL search_path = ${schema}`)
  for (const { path, up } of files) {
    await run(
      query,
      up,
      (reason) =>
        `${path} of ${set.module} failed: ${reason}. A migration sees "${set.tables}" and what begins with ` +
        `"${set.tables}_", and nothing else. Nothing was changed; correct the file`,
    )
  }
  await query('ROLLBACK TO rehearsal; RELEASE rehearsal')
}

/** @throws {MigrationError} where the text is at fault; {DatabaseError} `busy` or `unavailable` where it is not */
export async function run(query: Query, text: string, message: (reason: string) => string): Promise<void> {
  try {
    await query(text)
  } catch (error) {
    const { kind, cause } = error as DatabaseError
    if (kind === 'busy' || kind === 'unavailable') throw error
    throw new MigrationError(message((cause as Error).message), { cause: error })
  }
}
