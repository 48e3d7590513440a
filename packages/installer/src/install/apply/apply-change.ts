import { isDeepStrictEqual } from 'node:util'
import {
  assertOwnDatabase,
  emptyLockFile,
  type Generation,
  isBrought,
  type LockedPackage,
  type LockFile,
  type OperatorRecord,
  readConfig,
  readFileId,
  readGenerations,
  readIdentity,
  readLockFile,
  recordGeneration,
} from '@mortise/application'
import { removeSnapshot } from '@mortise/application/folder'
import { callRunningHost } from '@mortise/host'
import { type AppliedMigration, StorageUnreachableError } from '@mortise/storage'
import { changeRecord } from '../../changes/audit-record.ts'
import {
  assertCurrent,
  currentGeneration,
  generationOf,
  isSame,
  nextGeneration,
} from '../../changes/current-generation.ts'
import {
  closeJournal,
  type Journal,
  readJournal,
  removeJournal,
  writeJournal,
} from '../../changes/journal.ts'
import { exitCodes } from '../../failures/index.ts'
import { asFailure } from '../../reporting/explain.ts'
import { lockedModule } from '../../store/installed-packages.ts'
import { activate } from './activate.ts'
import { archiveAndUndo, type Undone } from './archive-and-undo.ts'
import { commit } from './commit.ts'
import { type AppliedMigrations, migrate } from './migrate.ts'
import { revertChange, revertEntry, revertedLockFile } from './revert-change.ts'
import { takeSnapshot } from './take-snapshot.ts'

// Every change of the installed modules runs in this order, and survives a kill at any point:
// journal → snapshot → migrate → lock file (the commit point) → record → the running host switches
// → archive of what is undone → undo → journal deleted.
//
// Before the commit the application runs as before, on a schema that may be ahead. After it, it
// runs as changed. The next command completes a journal that it finds. An external lock file exists
// before the journal and is never written: its commit point is its record, after the running host
// switched.

export interface Change {
  readonly directory: string
  readonly command: string
  readonly previous: LockFile
  /** The modules to install. Their packages are in the store, checked and probed. */
  readonly modules: LockFile['modules']
  /** The host to pin; null for none. If omitted, it stays as before. */
  readonly host?: LockedPackage | null
  readonly config?: Journal['config']
  /** Migrations to undo afterwards. All of them have a down migration. */
  readonly undo?: readonly AppliedMigration[]
  /** The setting, if the change is one of settings. */
  readonly object?: string
  /** More for the audit trail. */
  readonly details?: OperatorRecord['details']
  /** Whether `previous` may be an external lock file that was never current. */
  readonly anyLock?: boolean
}

export interface Switched {
  readonly generation: number
  /** Whether a running host already serves the change. */
  readonly live: boolean
  /** The applied migrations: `api-cart/001-cart`. */
  readonly migrations: readonly string[]
  readonly undone?: Undone
}

/** @throws {Failure} rejected before the commit (4), or reverted after it (5) */
export async function applyChange({
  directory,
  command,
  previous,
  modules,
  host = previous.host ?? null,
  config,
  undo = [],
  object,
  details,
  anyLock = false,
}: Change): Promise<Switched> {
  const recorded = await currentGeneration(directory)
  if (!anyLock) assertCurrent(await readLockFile(directory), recorded)
  await assertDatabaseThere(directory)
  const present = await recordUnrecorded(directory, previous, recorded)
  const { lockVersion } = previous
  const generation = nextGeneration(previous, present)
  const next = { lockVersion, generation, ...(host && { host }), modules }
  const begun = changeRecord(command, previous, next, object)
  const record = { ...begun, details: { ...begun.details, ...details } }
  return await begin(directory, { command, record, previous, next, config, undo })
}

/** Changes only app.config.json, with a record. No host switches. */
export async function applyConfig(
  directory: string,
  config: NonNullable<Journal['config']>,
  record: Journal['record'],
): Promise<void> {
  const lock = await readLockFile(directory)
  const command = String(record.details.command)
  await begin(directory, { command, record, previous: lock, next: lock, config, undo: [] })
}

/**
 * Applies an external modules.lock.json, without changing the file. Its packages are in the
 * store, checked and probed.
 * @throws {Failure} like `applyChange`: the previous generation stays current
 */
export async function applyExternalChange(
  directory: string,
  command: string,
  next: LockFile,
): Promise<Switched> {
  await assertDatabaseThere(directory)
  const recorded = await currentGeneration(directory)
  const present = recorded ?? (await recordUnrecorded(directory, emptyLockFile, undefined))
  const { lock: previous } = present
  const external = generationOf(next, present)
  const record = changeRecord(command, previous, next, undefined, external)
  return await begin(directory, { command, record, previous, next, external, undo: [] })
}

async function begin(directory: string, journal: Journal): Promise<Switched> {
  await writeJournal(directory, journal)
  return await carryOut(directory, journal)
}

/** @returns undefined if no killed command left a change; `archive` is relative to the folder */
export async function completeInterrupted(
  directory: string,
): Promise<{ command: string; archive: string | undefined } | undefined> {
  const journal = await readJournal(directory)
  if (journal === undefined) return undefined
  const { undone } = await carryOut(directory, journal)
  return { command: journal.command, archive: undone?.archive }
}

async function carryOut(directory: string, journal: Journal): Promise<Switched> {
  const { next, command, external } = journal
  const lock = await readLockFile(directory)
  if (external === undefined && isDeepStrictEqual(journal.previous, next)) {
    await commit(directory, journal)
    await closeJournal(directory, journal, 'done')
    return { generation: next.generation, live: false, migrations: [] }
  }
  const reached = await reachedBy(directory, journal, lock)
  if (reached === 'past') return await endPast(directory, journal, lock)
  const generation = external ?? next.generation
  const migrations = reached === 'begun' ? await prepare(directory, journal) : []
  const isWritten = external === undefined
  if (isWritten && reached === 'begun') await commit(directory, journal)
  if (isWritten) await recordGeneration(directory, command, next)
  // A host that started on an external lock file without its packages may already serve it.
  const outcome = await activate(directory, { again: !isWritten, config: journal.config })
  if (typeof outcome === 'object') {
    throw await revertChange(directory, journal, migrations, outcome.reason)
  }
  if (!isWritten) await recordGeneration(directory, command, next, { generation })
  const undone =
    journal.undo.length > 0 ? await archiveAndUndo(directory, journal.previous, journal.undo) : {}
  await closeJournal(directory, journal, 'done')
  const names = migrations.map(({ module, name }) => `${module}/${name}`)
  return { generation, live: outcome === 'served', migrations: names, undone }
}

/** `begun` before the commit, `committed` after it, `past` if modules.lock.json changed again. */
async function reachedBy(
  directory: string,
  { previous, next, external }: Journal,
  lock: LockFile,
): Promise<'begun' | 'committed' | 'past'> {
  if (!isDeepStrictEqual(lock, next)) {
    return external === undefined && isDeepStrictEqual(lock, previous) ? 'begun' : 'past'
  }
  if (external === undefined) return 'committed'
  return (await currentGeneration(directory))?.generation === external ? 'committed' : 'begun'
}

async function endPast(directory: string, journal: Journal, lock: LockFile): Promise<Switched> {
  const { command, next, external } = journal
  const back = revertedLockFile(journal)
  if (external === undefined && isDeepStrictEqual(lock, back)) {
    await recordGeneration(directory, revertEntry(command), back, { takesBack: next.generation })
  }
  const { known: past } = await readGenerations(directory)
  const isRecorded = past.some(({ generation }) => generation === (external ?? next.generation))
  const isTakenBack = past.some(({ takesBack }) => takesBack === next.generation)
  await closeJournal(directory, journal, isRecorded && !isTakenBack ? 'done' : 'reverted')
  return { generation: lock.generation, live: false, migrations: [] }
}

/** Everything before the commit. On failure the previous generation stays current. */
async function prepare(directory: string, { previous, next }: Journal): Promise<AppliedMigrations> {
  const fresh = freshIn(next, previous)
  const present = (await currentGeneration(directory))?.generation ?? previous.generation
  let isCopied = false
  try {
    isCopied = await takeSnapshot(directory, present, fresh)
    return await migrate(directory, fresh)
  } catch (error) {
    if (isCopied && asFailure(error).exitCode === exitCodes.refused) await removeSnapshot(directory, present)
    await removeJournal(directory)
    throw error
  }
}

const freshIn = (next: LockFile, previous: LockFile): LockFile['modules'] =>
  Object.fromEntries(
    Object.entries(next.modules).filter(([id, locked]) => isBrought(locked, lockedModule(previous, id))),
  )

/**
 * Prevents changes if the SQLite file is lost or is another one, or if the running host cannot reach
 * PostgreSQL, and so could not switch. A running host already has its file open, and PostgreSQL is
 * checked when it is opened.
 * @throws {IdentityError}
 * @throws {StorageUnreachableError}
 */
async function assertDatabaseThere(directory: string): Promise<void> {
  const config = await readConfig(directory)
  const identity = await readIdentity(directory)
  if (config.databaseFile === undefined) await callRunningHost(directory, 'hosts').catch(ifUnreachable)
  if (config.databaseFile === undefined || !identity?.database) return
  if ((await callRunningHost(directory, 'state')) !== undefined) return
  assertOwnDatabase(config, identity, readFileId(config.databaseFile))
}

/** The change itself finds out the rest. */
function ifUnreachable(error: unknown): void {
  if (error instanceof StorageUnreachableError) throw error
}

/** The first change of an application without history also records its state before. */
async function recordUnrecorded(
  directory: string,
  lock: LockFile,
  present: Generation | undefined,
): Promise<Generation> {
  if (present !== undefined && isSame(present.lock, lock)) return present
  const command = present === undefined && lock.generation === 0 ? 'init' : 'unrecorded'
  await recordGeneration(directory, command, lock, { generation: generationOf(lock, present) })
  return (await currentGeneration(directory)) as Generation
}
