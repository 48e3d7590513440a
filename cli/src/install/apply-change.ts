import { realpath } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { changeRecord } from '../audit/change-record.ts'
import { asFailure } from '../explain.ts'
import { exitCodes, Failure } from '../failure.ts'
import {
  type AppliedMigration,
  callRunningHost,
  configFile,
  hostMigrations,
  type Lock,
  type LockedPackage,
  leaveRecord,
  migrateApplication,
  type Outcome,
  readLock,
  replaceFile,
  StillNeededError,
  StorageBusyError,
  undoMigrations as undoAlone,
  writeLock,
} from '../host.ts'
import { readGenerations, recordGeneration } from './generations.ts'
import { type Journal, readJournal, removeJournal, writeJournal } from './journal.ts'
import { removeSnapshot } from './snapshots.ts'
import { takeSnapshot } from './take-snapshot.ts'

// Every change of what is installed, in the one order that can be killed anywhere: journal → snapshot → migrate →
// lock (the commit point) → the running host switches → what goes back is undone → on record → journal gone. Before the
// commit the application runs as before, on a schema that may be ahead of it; after it as changed. A journal that is
// found is completed.

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
}

export interface Switched {
  readonly generation: number
  /** Whether a running host serves the change already. */
  readonly live: boolean
  /** The migrations that were applied: `api-cart/001-cart`. */
  readonly migrations: readonly string[]
  /** Why what was to be undone stays: another host of the database needs it. The last of them undoes it. */
  readonly stays?: string
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
}: Change): Promise<Switched> {
  await recordUnrecorded(directory, former)
  const { lockVersion } = former
  const next = { lockVersion, generation: former.generation + 1, ...(host && { host }), modules }
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
  const lock = await readLock(directory)
  const command = String(record.details.command)
  const journal = { command, record, former: lock, next: lock, config, undo: [] }
  await writeJournal(directory, journal)
  await carryOut(directory, journal)
}

/**
 * Completes the change that a killed command has left.
 * @returns the command that it was, undefined where there was none
 */
export async function completeInterrupted(directory: string): Promise<string | undefined> {
  const journal = await readJournal(directory)
  if (journal === undefined) return undefined
  await carryOut(directory, journal)
  return journal.command
}

/** Whether the change that a killed command has left keeps the host from starting. */
export async function blocksStart(directory: string): Promise<boolean> {
  return (await readJournal(directory))?.undo.some(isOfHost) === true
}

const isOfHost = ({ module }: AppliedMigration) => module === hostMigrations.module

async function carryOut(directory: string, journal: Journal): Promise<Switched> {
  const { former, next, command } = journal
  const lock = await readLock(directory)
  const { generation } = lock
  if (journal.former.generation === next.generation) {
    if (journal.config) await replaceConfig(directory, journal.config.former, journal.config.next)
    await end(directory, journal, 'done')
    return { generation, live: false, migrations: [] }
  }
  // Whatever has become the lock since is newer than this change: it was committed, and perhaps taken back.
  if (generation > next.generation) {
    const past = await readGenerations(directory, lock)
    const isTakenBack = past.some(({ takesBack }) => takesBack === next.generation)
    await end(directory, journal, isTakenBack ? 'taken back' : 'done')
    return { generation, live: false, migrations: [] }
  }
  let migrations: Applied = []
  if (generation < next.generation) {
    const fresh = freshIn(next, former)
    let isCopied = false
    try {
      isCopied = await takeSnapshot(directory, former.generation, fresh)
      migrations = await migrate(directory, fresh)
    } catch (error) {
      if (isCopied && asFailure(error).exitCode === exitCodes.refused) {
        await removeSnapshot(directory, former.generation)
      }
      await removeJournal(directory)
      throw error
    }
    await recordGeneration(directory, command, next)
    if (journal.config) await replaceConfig(directory, journal.config.former, journal.config.next)
    await writeLock(directory, next)
  }
  const outcome = await activate(directory, journal.config)
  if (outcome !== 'served' && outcome !== 'no host')
    throw await takeBack(directory, journal, migrations, outcome.reason)
  const stays = journal.undo.length > 0 ? await undoMigrations(directory, journal.undo) : undefined
  await end(directory, journal, 'done')
  const live = outcome === 'served'
  return { generation: next.generation, live, migrations: namesOf(migrations), ...(stays && { stays }) }
}

/** Killed in between, the same record is left again. */
async function end(directory: string, { record }: Journal, outcome: Outcome): Promise<void> {
  await leaveRecord(directory, { ...record, outcome })
  await removeJournal(directory)
}

/** Replaces app.config.json, or what it links to, unless somebody else has changed it meanwhile. */
async function replaceConfig(directory: string, expected: string, text: string): Promise<void> {
  await replaceFile(await realpath(configFile(directory)), expected, text)
}

/** The modules that this change brings, switches on or replaces. */
function freshIn(next: Lock, former: Lock): Lock['modules'] {
  const isFresh = ([id, locked]: [string, Lock['modules'][string]]) =>
    locked.enabled && !(Object.hasOwn(former.modules, id) && isDeepStrictEqual(former.modules[id], locked))
  return Object.fromEntries(Object.entries(next.modules).filter(isFresh))
}

/** The lock as it was, as a generation of its own; what was migrated for the change is undone where it can be. */
async function takeBack(
  directory: string,
  journal: Journal,
  migrated: Applied,
  reason: string,
): Promise<Failure> {
  const { command, former, next, config } = journal
  const back = { ...former, generation: next.generation + 1 }
  await recordGeneration(directory, `${command} (taken back)`, back, { takesBack: next.generation, reason })
  if (config) await replaceConfig(directory, config.next, config.former)
  await writeLock(directory, back)
  const outcome = await activate(directory)
  const schema = await undoneOrSaid(directory, migrated)
  await end(directory, journal, 'taken back')
  const where =
    outcome === 'served' ? 'The former modules are back and serving.' : 'The lock is back as it was.'
  return new Failure(
    'activation',
    'activation-failed',
    `The running host could not take up the change: ${reason}. ${where}`,
    `Correct what it says, then try again. ${schema}`,
  )
}

async function undoneOrSaid(directory: string, migrated: Applied): Promise<string> {
  try {
    const stays = migrated.length > 0 ? await undoMigrations(directory, migrated) : undefined
    return stays === undefined ? 'Data and former modules are as they were.' : ahead(stays)
  } catch (error) {
    return ahead((error as Error).message)
  }
}

const ahead = (reason: string) =>
  `The schema stays ahead of the former modules, which does no harm: ${reason}`

/** The first change of an application that has no history yet also records what it had before. */
async function recordUnrecorded(directory: string, lock: Lock): Promise<void> {
  const known = await readGenerations(directory, lock)
  if (known.at(-1)?.lock.generation === lock.generation) return
  await recordGeneration(directory, lock.generation === 0 ? 'init' : 'unrecorded', lock)
}

async function migrate(directory: string, modules: Lock['modules']): Promise<Applied> {
  if (Object.keys(modules).length === 0) return []
  const answer = await callRunningHost(directory, { method: 'POST', path: '/migrate', body: { modules } })
  if (answer === undefined) return await migrateAlone(directory, modules)
  const { applied, reason } = answer.body as { applied?: Applied; reason?: string }
  if (answer.status === 200 && applied) return applied
  throw new Failure(
    answer.status === 409 ? 'refused' : 'unexpected',
    'migration-failed',
    `The running host could not migrate the database: ${reason ?? `it answered ${answer.status}`}.`,
    'The former modules stay in use. The migration has to be corrected by whoever wrote the module.',
  )
}

type Applied = readonly { module: string; name: string }[]

const namesOf = (applied: Applied) => applied.map(({ module, name }) => `${module}/${name}`)

/** A host that was started a moment ago has the database: then it is asked. */
async function migrateAlone(directory: string, modules: Lock['modules']): Promise<Applied> {
  try {
    return await migrateApplication(directory, modules)
  } catch (error) {
    if (!(error instanceof StorageBusyError)) throw error
    const answer = await callRunningHost(directory, { method: 'POST', path: '/migrate', body: { modules } })
    if (answer?.status !== 200) throw error
    return (answer.body as { applied: Applied }).applied
  }
}

/**
 * The requests that began before the change may still need what is undone: they are waited for. A host needs its
 * own tables until it ends.
 * @returns why they stay, where another host needs them
 */
async function undoMigrations(
  directory: string,
  migrations: readonly AppliedMigration[],
): Promise<string | undefined> {
  if (migrations.some(isOfHost)) return await undoOrStay(directory, migrations)
  await callRunningHost(directory, { method: 'POST', path: '/retired' })
  const answer = await callRunningHost(directory, { method: 'POST', path: '/undo', body: { migrations } })
  if (answer === undefined) return await undoOrStay(directory, migrations)
  if (answer.status === 200) return undefined
  const { reason, stillNeeded } = answer.body as { reason?: string; stillNeeded?: boolean }
  if (stillNeeded) return reason
  throw new Failure(
    'unexpected',
    'undo-failed',
    `The former modules serve, but migrations could not be undone: ${reason ?? `the host answered ${answer.status}`}.`,
    'The schema stays ahead of them, which does no harm. The next command that changes the application tries again.',
  )
}

async function undoOrStay(
  directory: string,
  migrations: readonly AppliedMigration[],
): Promise<string | undefined> {
  try {
    await undoAlone(directory, migrations)
    return undefined
  } catch (error) {
    if (error instanceof StillNeededError) return error.message
    throw error
  }
}

type Activation = 'served' | 'no host' | { readonly reason: string }

/** @param config what a setting has changed, for the host that watches the change */
async function activate(directory: string, config?: Journal['config']): Promise<Activation> {
  try {
    const body = { config }
    const answer = await callRunningHost(directory, { method: 'POST', path: '/activate', body })
    if (answer === undefined) return 'no host'
    if (answer.status === 200) return 'served'
    const { module, reason } = answer.body as { module?: string; reason?: string }
    const why = reason ?? `it answered ${answer.status}`
    return { reason: module === undefined ? why : `${module}: ${why}` }
  } catch (error) {
    return { reason: (error as Error).message }
  }
}
