import { isDeepStrictEqual } from 'node:util'
import {
  type AppliedMigration,
  emptyLockFile,
  type Generation,
  type Lock,
  type LockedPackage,
  readGenerations,
  readLockFile,
  recordGeneration,
} from '@mortise/host'
import { removeSnapshot } from '../../application/snapshots.ts'
import { changeRecord } from '../../changes/audit-record.ts'
import {
  assertCurrent,
  generationOf,
  inForce,
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
import { isOfHost } from '../../store/applied-migrations.ts'
import { asFailure } from '../../terminal/explain.ts'
import { activate } from './activate.ts'
import { assertDatabaseThere } from './assert-database-there.ts'
import { type Applied, migrate, namesOf } from './migrate.ts'
import { backOf, leaveLock, takeBack, takenBack } from './take-back.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { type Undone, undoMigrations } from './undo-migrations.ts'
import { commit } from './write-lock-file.ts'

// Every change of what is installed, in the one order that can be killed anywhere: journal → snapshot → migrate →
// lock (the commit point) → on record → the running host switches → an archive of what goes back → that is undone →
// journal gone. Before the commit the application runs as before, on a schema that may be ahead of it; after it as
// changed. A journal that is found is completed. A lock that came from outside is there before the journal and is never written: its commit point
// is its record, once the running host has switched.

export interface Change {
  readonly directory: string
  /** As it was called, for the history. */
  readonly command: string
  readonly former: Lock
  /** What is to be installed. Its packages lie in the store, and were checked and probed. */
  readonly modules: Lock['modules']
  /** The host to pin; null for none. Left out: as before. */
  readonly host?: LockedPackage | null
  /** The text of app.config.json, where the change is one of settings. */
  readonly config?: Journal['config']
  /** Migrations to undo afterwards; each can be. */
  readonly undo?: readonly AppliedMigration[]
  /** What is changed, where that is a setting. */
  readonly object?: string
  /** Whether `former` may have come from outside, and was never in force. */
  readonly anyLock?: boolean
}

export interface Switched {
  readonly generation: number
  /** Whether a running host serves the change already. */
  readonly live: boolean
  /** The migrations that were applied: `api-cart/001-cart`. */
  readonly migrations: readonly string[]
  /** What came of the migrations that were to be undone. */
  readonly undone?: Undone
}

/** @throws {Failure} refused before the commit (4), or undone after it (5) */
export async function applyChange({
  directory,
  command,
  former,
  modules,
  host = former.host ?? null,
  config,
  undo = [],
  object,
  anyLock = false,
}: Change): Promise<Switched> {
  if (!anyLock) await assertCurrent(directory)
  await assertDatabaseThere(directory)
  const present = await recordUnrecorded(directory, former)
  const { lockVersion } = former
  const generation = nextGeneration(former, present)
  const next = { lockVersion, generation, ...(host && { host }), modules }
  const record = changeRecord(command, former, next, object)
  const journal = { command, record, former, next, config, undo }
  await writeJournal(directory, journal)
  return await carryOut(directory, journal)
}

/** Changes the text of app.config.json alone, on record: what is installed stays, and no host takes anything up. */
export async function applyConfig(
  directory: string,
  config: NonNullable<Journal['config']>,
  record: Journal['record'],
): Promise<void> {
  const lock = await readLockFile(directory)
  const command = String(record.details.command)
  const journal = { command, record, former: lock, next: lock, config, undo: [] }
  await writeJournal(directory, journal)
  await carryOut(directory, journal)
}

/**
 * Puts in force what modules.lock.json names, where that came from outside; the file stays as it is. Its packages lie in
 * the store, and were checked and probed.
 * @throws {Failure} as `applyChange`: what was in force before still is
 */
export async function applyExternalChange(directory: string, command: string, next: Lock): Promise<Switched> {
  await assertDatabaseThere(directory)
  const present = (await inForce(directory)) ?? (await recordUnrecorded(directory, emptyLockFile))
  const { lock: former } = present
  const outside = generationOf(next, present)
  const record = changeRecord(command, former, next, undefined, outside)
  const journal = { command, record, former, next, outside, undo: [] }
  await writeJournal(directory, journal)
  return await carryOut(directory, journal)
}

/**
 * Completes the change that a killed command has left.
 * @returns the command that it was, and the archive of what it has undone; undefined where there was none
 */
export async function completeInterrupted(directory: string): Promise<Completed | undefined> {
  const journal = await readJournal(directory)
  if (journal === undefined) return undefined
  const { undone } = await carryOut(directory, journal)
  return { command: journal.command, archive: undone?.archive }
}

export interface Completed {
  readonly command: string
  /** Relative to the application folder. */
  readonly archive: string | undefined
}

/** Whether the change that a killed command has left keeps the host from starting. */
export async function blocksStart(directory: string): Promise<boolean> {
  return (await readJournal(directory))?.undo.some(isOfHost) === true
}

async function carryOut(directory: string, journal: Journal): Promise<Switched> {
  const { next, command, outside } = journal
  const lock = await readLockFile(directory)
  if (outside === undefined && isDeepStrictEqual(journal.former, next)) {
    await commit(directory, journal)
    await closeJournal(directory, journal, 'done')
    return { generation: next.generation, live: false, migrations: [] }
  }
  const reached = await reachedBy(directory, journal, lock)
  if (reached === 'past') return await endPast(directory, journal, lock)
  const generation = outside ?? next.generation
  const migrations = reached === 'begun' ? await prepare(directory, journal) : []
  const isWritten = outside === undefined
  if (isWritten && reached === 'begun') await commit(directory, journal)
  if (isWritten) await recordGeneration(directory, command, next)
  // A lock from outside may be served already, by a host that was started on it without its packages.
  const outcome = await activate(directory, { again: !isWritten, config: journal.config })
  if (outcome !== 'served' && outcome !== 'no host') {
    throw isWritten
      ? await takeBack(directory, journal, migrations, outcome.reason)
      : await leaveLock(directory, journal, migrations, outcome.reason)
  }
  if (!isWritten) await recordGeneration(directory, command, next, { generation })
  const undone = journal.undo.length > 0 ? await undoMigrations(directory, journal.former, journal.undo) : {}
  await closeJournal(directory, journal, 'done')
  const live = outcome === 'served'
  return { generation, live, migrations: namesOf(migrations), undone }
}

/**
 * How far a change has got: `begun` before its commit, `committed` after it; `past` where modules.lock.json is another
 * one since, because it was taken back or somebody replaced the file.
 */
async function reachedBy(
  directory: string,
  { former, next, outside }: Journal,
  lock: Lock,
): Promise<'begun' | 'committed' | 'past'> {
  if (!isDeepStrictEqual(lock, next)) {
    return outside === undefined && isDeepStrictEqual(lock, former) ? 'begun' : 'past'
  }
  if (outside === undefined) return 'committed'
  return (await inForce(directory))?.generation === outside ? 'committed' : 'begun'
}

async function endPast(directory: string, journal: Journal, lock: Lock): Promise<Switched> {
  const { command, next, outside } = journal
  const back = backOf(journal)
  if (outside === undefined && isDeepStrictEqual(lock, back)) {
    await recordGeneration(directory, takenBack(command), back, { takesBack: next.generation })
  }
  const { known: past } = await readGenerations(directory)
  const isRecorded = past.some(({ generation }) => generation === (outside ?? next.generation))
  const isTakenBack = past.some(({ takesBack }) => takesBack === next.generation)
  await closeJournal(directory, journal, isRecorded && !isTakenBack ? 'done' : 'taken back')
  return { generation: lock.generation, live: false, migrations: [] }
}

/** All that comes before the commit. Where it fails, what was in force stays so. */
async function prepare(directory: string, { former, next }: Journal): Promise<Applied> {
  const fresh = freshIn(next, former)
  const present = (await inForce(directory))?.generation ?? former.generation
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

/** The modules that this change brings, switches on or replaces. */
function freshIn(next: Lock, former: Lock): Lock['modules'] {
  const isFresh = ([id, locked]: [string, Lock['modules'][string]]) =>
    locked.enabled && !(Object.hasOwn(former.modules, id) && isDeepStrictEqual(former.modules[id], locked))
  return Object.fromEntries(Object.entries(next.modules).filter(isFresh))
}

/** The first change of an application that has no history yet also records what it had before. */
async function recordUnrecorded(directory: string, lock: Lock): Promise<Generation> {
  const present = await inForce(directory)
  if (present !== undefined && isSame(present.lock, lock)) return present
  const command = present === undefined && lock.generation === 0 ? 'init' : 'unrecorded'
  await recordGeneration(directory, command, lock, { generation: generationOf(lock, present) })
  return (await inForce(directory)) as Generation
}
