import { sql } from '@mortise/module-sdk/sql'
import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, Engine, LedgerEntry, MigrationSet } from '../port/storage.ts'
import type { Dialect, OrphanRow, SchemaSteps } from './dialect.ts'
import { foreignChange, type SchemaObject } from './foreign-change.ts'
import { insertion, prepareLedger, readLedger } from './ledger.ts'
import { type MigrationFile, readMigrations } from './migration-files.ts'
import { isOfHost } from './module-prefixes.ts'
import { planMigrations } from './plan-migrations.ts'

export interface ReadSet<File extends MigrationFile = MigrationFile> {
  readonly set: MigrationSet
  readonly files: readonly File[]
}

/** @throws {MigrationError} if one of them is unreadable or refused */
export const readSets = (sets: readonly MigrationSet[], engine: Engine): Promise<ReadSet[]> =>
  Promise.all(sets.map(async (set) => ({ set, files: await readMigrations(set, engine) })))

/** The migrations that `migrate` would apply. */
export const pendingMigrations = (
  sets: readonly ReadSet[],
  ledger: readonly LedgerEntry[],
): AppliedMigration[] =>
  sets.flatMap(({ set, files }) =>
    planMigrations(set, files, ledger).map(({ name }) => ({ module: set.module, name })),
  )

/** Also to record the prefixes that host 1.0 did not record. */
export const needsMigration = (sets: readonly ReadSet[], ledger: readonly LedgerEntry[]): boolean =>
  pendingMigrations(sets, ledger).length > 0 ||
  ledger.some(({ module, tables }) => tables === null && sets.some(({ set }) => set.module === module))

/** @throws {MigrationError} */
export function* migrate<Entry extends LedgerEntry, File extends MigrationFile>(
  dialect: Dialect<Entry, File>,
  sets: readonly ReadSet<File>[],
): SchemaSteps<AppliedMigration[]> {
  yield* prepareLedger(dialect)
  for (const { set } of sets)
    yield sql`UPDATE mortise_migration SET tables = ${set.tables} WHERE module = ${set.module} AND tables IS NULL`
  const applied: AppliedMigration[] = []
  const ledger = yield* readLedger(dialect)
  let objects: SchemaObject[] | undefined
  for (const { set, files } of sets) {
    const pending = planMigrations(set, files, ledger)
    // The first tables of the host: there is nothing yet that they could change.
    const isFirst = ledger.length === 0 && isOfHost(set.tables)
    if (pending.length > 0 && !isFirst) yield* dialect.alone(() => runAll(set, files))
    for (const file of pending) {
      const entry = dialect.entryOf(set, file)
      const what = `${file.path} of ${set.module}`
      objects = yield* applyEntry(dialect, what, file.up, entry, isFirst ? 'none' : objects)
      applied.push({ module: set.module, name: file.name })
    }
  }
  yield* assertKeysHold(
    dialect,
    sets.map(({ set }) => set.tables),
    ({ table, parent }) =>
      `the migrations leave rows in "${table}" whose "${parent}" is gone. Nothing was changed; ` +
      'foreign keys do not cascade in a migration: delete or correct the rows in it',
  )
  return applied
}

/**
 * Runs one migration and records it.
 * @param what a description for messages
 * @param before see `confined`; 'none': not confined
 * @returns the objects of the schema after it, if they are known
 */
export function* applyEntry<Entry extends LedgerEntry, File extends MigrationFile>(
  dialect: Dialect<Entry, File>,
  what: string,
  up: string,
  entry: Entry,
  before?: SchemaObject[] | 'none',
): SchemaSteps<SchemaObject[] | undefined> {
  const messages = {
    failed: (reason: string) => `${what} failed: ${reason}. Nothing was changed; correct the file`,
    strayed: (strayed: string) => `${what} ${strayed}. Nothing was changed; correct the file`,
  }
  let after: SchemaObject[] | undefined
  if (before === 'none') yield* run(up, messages.failed)
  else after = yield* confined(dialect, entry.tables as string, up, messages, before)
  yield insertion(dialect, entry)
  return after
}

/** Access to another module's tables fails here, and would not show in the schema. */
export function* runAll(set: MigrationSet, files: readonly MigrationFile[]): SchemaSteps<void> {
  for (const { path, up } of files) {
    yield* run(
      up,
      (reason) =>
        `${path} of ${set.module} failed: ${reason}. A migration can use only "${set.tables}" and names that begin with ` +
        `"${set.tables}_". Nothing was changed; correct the file`,
    )
  }
}

/**
 * Runs a text that may change only objects with a prefix.
 * @param known the objects of the schema now, which take PostgreSQL longest to find
 * @returns the objects after it
 * @throws {MigrationError} with one of these messages
 */
export function* confined(
  { objects }: Pick<Dialect, 'objects'>,
  prefix: string,
  text: string,
  messages: {
    readonly failed: (reason: string) => string
    readonly strayed: (strayed: string) => string
  },
  known?: SchemaObject[],
): SchemaSteps<SchemaObject[]> {
  const before = known ?? (yield objects)
  yield* run(text, messages.failed)
  const after = yield objects
  const change = foreignChange(prefix, before, after)
  if (change === undefined) return after
  throw new MigrationError(
    messages.strayed(`${change}, but it may only change "${prefix}" and names that begin with "${prefix}_"`),
  )
}

/** @throws {MigrationError} for an error in the text */
export function* run(text: string, message: (reason: string) => string): SchemaSteps<void> {
  try {
    yield text
  } catch (error) {
    const { message: reason } = ((error as Error).cause ?? error) as Error
    throw new MigrationError(message(reason), { cause: error })
  }
}

/** @throws {MigrationError} for a row with a missing parent */
export function* assertKeysHold(
  dialect: Pick<Dialect, 'orphanIn'>,
  prefixes: readonly string[],
  message: (orphan: OrphanRow) => string,
): SchemaSteps<void> {
  const orphan = dialect.orphanIn && (yield* dialect.orphanIn(prefixes))
  if (orphan !== undefined) throw new MigrationError(message(orphan))
}
