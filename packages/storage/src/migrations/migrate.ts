import type { Engine } from '@mortise/module-sdk'
import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, LedgerEntry, MigrationSet } from '../port/storage.ts'
import type { Dialect, OrphanRow, SchemaSteps } from './dialect.ts'
import { foreignChange, type SchemaObject } from './foreign-change.ts'
import { insertion, readLedger } from './ledger.ts'
import { type MigrationFile, readMigrations } from './migration-files.ts'
import { isOfHost } from './module-prefixes.ts'

const REMEDY = 'Nothing was changed; correct the file'

export interface ReadSet<File extends MigrationFile = MigrationFile> {
  readonly set: MigrationSet
  readonly files: readonly File[]
}

/** @throws {MigrationError} if one of them is unreadable or refused */
export const readSets = (sets: readonly MigrationSet[], engine: Engine): Promise<ReadSet[]> =>
  Promise.all(sets.map(async (set) => ({ set, files: await readMigrations(set, engine) })))

/**
 * The pending files of a set, in order. The schema may be ahead of the package: a newer version was
 * installed, or its installation was interrupted. Migrations keep the previous version's statements
 * working.
 *
 * @throws {MigrationError} if the applied migrations differ from the package's, up to its last one
 */
function planMigrations<File extends MigrationFile>(
  set: MigrationSet,
  files: readonly File[],
  ledger: readonly LedgerEntry[],
): File[] {
  const applied = new Set<string>()
  const last = files.at(-1)?.name ?? ''
  for (const entry of ledger) {
    if (entry.module !== set.module) continue
    if (entry.name > last) continue
    const file = files.find(({ name }) => name === entry.name)
    if (file === undefined) {
      throw new MigrationError(
        `${entry.name} of ${set.module} was applied to this database, but ${set.directory} has no such ` +
          'migration. Never delete an applied migration: restore the file',
      )
    }
    if (file.checksum !== entry.checksum) {
      throw new MigrationError(
        `${file.path} of ${set.module} has changed since it was applied to this database as ${entry.name}: ` +
          'never change an applied migration. Restore the file, and put the change into a new one',
      )
    }
    applied.add(entry.name)
  }
  return files.filter(({ name }) => !applied.has(name))
}

/** The migrations that `migrate` would apply. */
export const pendingMigrations = (
  sets: readonly ReadSet[],
  ledger: readonly LedgerEntry[],
): AppliedMigration[] =>
  sets.flatMap(({ set, files }) =>
    planMigrations(set, files, ledger).map(({ name }) => ({ module: set.module, name })),
  )

/** @throws {MigrationError} */
export function* migrate<Entry extends LedgerEntry, File extends MigrationFile>(
  dialect: Dialect<Entry, File>,
  sets: readonly ReadSet<File>[],
): SchemaSteps<AppliedMigration[]> {
  yield dialect.ledger.create
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
      if (isFirst) {
        yield* run(file.up, `${what} failed`, REMEDY)
        yield insertion(dialect, entry)
      } else {
        objects = yield* applyEntry(dialect, what, file.up, entry, objects)
      }
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
 * @param known see `confined`
 * @returns the objects of the schema after it
 */
export function* applyEntry<Entry extends LedgerEntry, File extends MigrationFile>(
  dialect: Dialect<Entry, File>,
  what: string,
  up: string,
  entry: Entry,
  known?: SchemaObject[],
): SchemaSteps<SchemaObject[]> {
  const words = { failed: `${what} failed`, strayed: what, remedy: REMEDY }
  const after = yield* confined(dialect, entry.tables, up, words, known)
  yield insertion(dialect, entry)
  return after
}

/** Access to another module's tables fails here, and would not show in the schema. */
export function* runAll(
  { module, tables }: MigrationSet,
  files: readonly MigrationFile[],
): SchemaSteps<void> {
  const remedy = `A migration can use only "${tables}" and names that begin with "${tables}_". ${REMEDY}`
  for (const { path, up } of files) yield* run(up, `${path} of ${module} failed`, remedy)
}

/**
 * Runs a text that may change only objects with a prefix.
 * @param words begin and end the messages
 * @param known the objects of the schema now, which take PostgreSQL longest to find
 * @returns the objects after it
 * @throws {MigrationError}
 */
export function* confined(
  { objects }: Pick<Dialect, 'objects'>,
  prefix: string,
  text: string,
  { failed, strayed, remedy }: Readonly<Record<'failed' | 'strayed' | 'remedy', string>>,
  known?: SchemaObject[],
): SchemaSteps<SchemaObject[]> {
  const before = known ?? (yield objects)
  yield* run(text, failed, remedy)
  const after = yield objects
  const change = foreignChange(prefix, before, after)
  if (change === undefined) return after
  throw new MigrationError(
    `${strayed} ${change}, but it may only change "${prefix}" and names that begin with "${prefix}_". ${remedy}`,
  )
}

/** SQLSTATEs of an object on which others depend, or whose column a view uses. */
const IN_THE_WAY = ['2BP01', '0A000']
const CLEAR_THE_WAY =
  'First drop that, or ask its owner to. For the tables of a module: app module-remove --purge'

type ServerReason = Error & { readonly code?: string; readonly detail?: string }

/** @throws {MigrationError} for an error in the text: `<failed>: <reason>. <remedy>` */
export function* run(text: string, failed: string, remedy: string): SchemaSteps<void> {
  try {
    yield text
  } catch (error) {
    const { message, code = '', detail } = ((error as Error).cause ?? error) as ServerReason
    // PostgreSQL names in the detail what depends on it: views and foreign keys of others, too.
    const isInTheWay = detail !== undefined && IN_THE_WAY.includes(code)
    const reason = isInTheWay ? `${message}: ${detail.replaceAll('\n', '; ')}` : message
    throw new MigrationError(`${failed}: ${reason}. ${isInTheWay ? CLEAR_THE_WAY : remedy}`, { cause: error })
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
