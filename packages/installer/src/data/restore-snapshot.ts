import { constants } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import {
  databaseAddress,
  type Generation,
  type LockFile,
  readConfig,
  readLockFile,
} from '@mortise/application'
import { readSnapshots, type Snapshot } from '@mortise/application/folder'
import {
  type DatabaseContents,
  findCorruption,
  MigrationError,
  readContents,
  readFileContents,
} from '@mortise/storage'
import { currentGeneration, nextGeneration } from '../changes/current-generation.ts'
import { type Failure, noSnapshot, notConfirmed, snapshotUnusable } from '../failures/index.ts'
import { confirm } from '../reporting/confirm.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { type MigrationNames, migrationsAfter } from '../store/applied-migrations.ts'
import { removeLeftovers } from '../store/leftovers.ts'
import { makeStaging } from '../store/staging.ts'
import { DATA } from './archive-manifest.ts'
import { purgedArchives, restoreCommand } from './archives.ts'
import { assertRoom } from './disk-room.ts'
import { replaceData } from './replace-data.ts'
import { assertStopped } from './restore-journal.ts'

export interface SnapshotPlan {
  readonly snapshot: Snapshot
  /** The tables with another number of rows at that time, without the audit trail. */
  readonly tables: readonly TableChange[]
  /** The loss, for people. */
  readonly loss: string
}

export interface RestoredSnapshot {
  readonly generation: number
  /** The place of the previous data: a file relative to the application folder, or a schema. */
  readonly previous: string | null
}

interface TableChange {
  readonly table: string
  readonly now: number
  readonly snapshot: number
}

/**
 * The newest snapshot without migrations of changes after `back`: the one that loses least.
 * @param names the migrations in the packages of `back`
 */
export async function findSnapshot(
  directory: string,
  names: MigrationNames,
  back: Generation,
): Promise<Snapshot | undefined> {
  const snapshots = await readSnapshots(directory)
  return snapshots.findLast(({ file }) => migrationsAfter(names, contentsOf(file).ledger, back).length === 0)
}

/**
 * Finds the snapshot before the first migration after `back`, and the loss that it means.
 * @param names the migrations in the packages of `back`
 * @throws {Failure} if there is none (4)
 */
export async function planSnapshot(
  directory: string,
  names: MigrationNames,
  back: Generation,
): Promise<SnapshotPlan> {
  const database = databaseAddress(await readConfig(directory))
  const snapshot = await findSnapshot(directory, names, back)
  if (snapshot === undefined) {
    const { generation, lock } = back
    const reason = 'there is no snapshot of a matching database'
    throw await withoutSnapshot(directory, { generation, reason, modules: Object.keys(lock.modules) })
  }
  const tables = changesBetween(await readContents(database), contentsOf(snapshot.file))
  return { snapshot, tables, loss: lossOf(snapshot, tables) }
}

/** @param about.modules the modules whose purged data the operator may look for */
export async function withoutSnapshot(
  directory: string,
  about: { readonly generation: number; readonly reason: string; readonly modules: readonly string[] },
): Promise<Failure> {
  const { generation, reason, modules } = about
  const archives = await purgedArchives(directory, modules)
  if (archives.length === 0) return noSnapshot({ hint: 'none', generation, reason })
  const ways = archives.map((archive) => restoreCommand(directory, archive)).join(', ')
  return noSnapshot({ hint: 'purged', generation, reason, ways })
}

/**
 * Installs the modules of `target` on the database of a snapshot. Call this with the command lock.
 * @param command the command line, for the history
 * @throws {Failure} if a host runs, or the snapshot is damaged (4); before any change
 */
export async function restoreSnapshot(
  directory: string,
  command: string,
  target: LockFile,
  { snapshot }: SnapshotPlan,
): Promise<RestoredSnapshot> {
  const generation = nextGeneration(await readLockFile(directory), await currentGeneration(directory))
  const previous = await putBack(directory, command, { ...target, generation }, snapshot).catch((error) => {
    if (!(error instanceof MigrationError)) throw error
    throw snapshotUnusable({ hint: 'damaged', file: snapshot.file, reason: error.message })
  })
  return { generation, previous }
}

/**
 * Restores a lost database from a snapshot. Call this with the command lock.
 * @returns what was done
 * @throws {Failure} if a host runs, or the snapshot is damaged; before any change
 */
export async function restoreLost(directory: string, snapshot: Snapshot): Promise<string> {
  await assertStopped(directory)
  const lock = await readLockFile(directory)
  await putBack(directory, 'doctor --fix', { ...lock, generation: lock.generation + 1 }, snapshot)
  await removeLeftovers(directory)
  return `Restored the snapshot of ${snapshot.at}. Later writes are in backups only. The next start migrates it.`
}

/** @returns the place of the previous data */
async function putBack(directory: string, command: string, lock: LockFile, snapshot: Snapshot) {
  const database = databaseAddress(await readConfig(directory))
  const data = await copied(directory, snapshot)
  const from = relative(directory, snapshot.file)
  return await replaceData({ directory, command, from, lock, database, data })
}

/** Copies the snapshot, which stays. The copy is moved into place. */
async function copied(directory: string, { file, bytes }: Snapshot): Promise<string> {
  const folder = await makeStaging(directory, 0o700)
  const copy = join(folder, DATA)
  try {
    await assertRoom(folder, bytes)
    await copyFile(file, copy, constants.COPYFILE_FICLONE)
  } catch (error) {
    throw snapshotUnusable({ hint: 'full', file, reason: (error as Error).message })
  }
  const damage = findCorruption(copy)
  if (damage !== undefined)
    throw snapshotUnusable({ hint: 'damaged', file, reason: `it is damaged: ${damage}` })
  return copy
}

function contentsOf(file: string): DatabaseContents {
  try {
    return readFileContents(file)
  } catch (error) {
    throw snapshotUnusable({ hint: 'damaged', file, reason: (error as Error).message })
  }
}

function changesBetween(now: DatabaseContents, then: DatabaseContents): TableChange[] {
  const tables = new Set([...Object.keys(now.rows), ...Object.keys(then.rows)])
  // These tables always differ: by the record of the change after the snapshot, and by the identity
  // from the first start.
  for (const table of ['mortise_audit', 'mortise_identity']) tables.delete(table)
  return [...tables]
    .sort()
    .map((table) => ({ table, now: now.rows[table] ?? 0, snapshot: then.rows[table] ?? 0 }))
    .filter((change) => change.now !== change.snapshot)
}

function lossOf({ at }: Snapshot, tables: readonly TableChange[]): string {
  const counts = tables.map(({ table, now, snapshot }) => `${table} ${now} (then ${snapshot})`)
  const rows =
    counts.length === 0 ? 'Every table has the same number of rows as then' : `Rows now: ${counts.join(', ')}`
  return `This loses all writes since ${at}, ${ago(Date.now() - Date.parse(at))}. ${rows}; changed rows go back to their old values too.`
}

function ago(milliseconds: number): string {
  const units = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1000],
  ] as const
  const [unit, length] = units.find(([, size]) => milliseconds >= size) ?? units[3]
  return new Intl.RelativeTimeFormat('en').format(-Math.floor(milliseconds / length), unit)
}

/**
 * States the loss first, before the operator has to stop a host.
 * @throws {Failure}
 */
export async function confirmSnapshotLoss(
  directory: string,
  terminal: Reporter,
  yes: boolean,
  loss: string,
): Promise<void> {
  if (!yes && !terminal.interactive) throw notConfirmed({ hint: 'loss', what: `this: ${loss}` })
  terminal.note(loss)
  await assertStopped(directory)
  await confirm(terminal, yes, 'Restore the snapshot?')
}
