import {
  type AppliedMigration,
  callRunningHost,
  type Generation,
  type Generations,
  type Lock,
  lockedPackages,
  nameOfHost,
  otherHosts,
  readGenerations,
  readLock,
} from '@mortise/host'
import { changesBetween } from '../changes/changes-between.ts'
import { isSame } from '../changes/in-force.ts'
import { restoreLostLock } from '../changes/lost-lock.ts'
import { sayUnreadable } from '../changes/say-unreadable.ts'
import { assertArchivable } from '../data/archives.ts'
import { findSnapshot, type RestoredSnapshot, restoreSnapshot } from '../data/restore-snapshot.ts'
import {
  lockMigrationNames,
  type MigrationNames,
  migrationsBeyond,
  readLedger,
} from '../store/applied-migrations.ts'
import { askBeforeLoss } from '../terminal/ask-before-loss.ts'
import { asFailure } from '../terminal/explain.ts'
import { exitCodes, Failure } from '../terminal/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { applyChange, type Switched } from './apply/apply-change.ts'
import { isOfHost } from './apply/undo-migrations.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { missingInStore, restoreStore } from './fetch/restore-store.ts'
import { type Drop, dropText, planUndo } from './plan/plan-undo.ts'
import { KEPT } from './prune/prune-store.ts'

export interface Rollback {
  readonly directory: string
  /** As it was called, for the history. */
  readonly command: string
  /** The one before the last change, where it is undefined. */
  readonly generation: number | undefined
  readonly terminal: Terminal
  /** Put the snapshot back that goes before the first migration in between, whether it can be undone or not. */
  readonly withSnapshot: boolean
  /** Do not ask. */
  readonly yes: boolean
  /** Only plan: change nothing. */
  readonly dryRun: boolean
  /** A folder for what is rehearsed; its maker removes it. */
  readonly staging: string
}

export interface RolledBack {
  readonly switched: Switched | undefined
  readonly generation: number
  /** The generation whose modules are installed again. */
  readonly to: number
  readonly plan: RollbackPlan
  /** The migrations that were undone: `api-cart/002-note`. */
  readonly undone: readonly string[]
  /** The database before they were, for `app restore`; relative to the application folder. */
  readonly archive: string | null
  /** Why they were not: another host of the database needs them. */
  readonly stays: string | null
  /** What came back instead, and what was lost. */
  readonly snapshot: Omit<RestoredSnapshot, 'generation'> | null
}

export interface RollbackPlan {
  /** For people: `~ api-cart 1.1.0 → 1.0.0`. */
  readonly changes: readonly string[]
  /** The migrations that are undone: `api-cart/002-note`. */
  readonly undo: readonly string[]
  readonly drops: readonly Drop[]
}

/**
 * Installs what a former generation had. The migrations that its packages do not have are undone by what the ledger
 * recorded of them, so no module's code is needed. Data of modules that it does not have stay, as when they are
 * removed. Says first what goes, and asks on a terminal; an archive of the database precedes what is undone. Run it while
 * the application is locked.
 *
 * @throws {Failure} where there is no such generation (3), or a migration in between cannot be undone (4)
 */
export async function rollbackModules(rollback: Rollback): Promise<RolledBack> {
  const { directory, command, withSnapshot, dryRun, terminal } = rollback
  const restored = dryRun ? undefined : await restoreLostLock(directory)
  if (restored !== undefined) terminal.note(restored)
  const lock = await readLock(directory)
  const generations = await readGenerations(directory)
  sayUnreadable(generations, rollback.terminal)
  // A lock that was lost is back: that is the way back which was asked for.
  const wanted =
    restored === undefined
      ? rollback.generation
      : (rollback.generation ?? generations.known.at(-1)?.generation)
  const { generation: to, lock: target } = find(generations, lock, wanted)
  const { modules, host = null } = target
  const changes = changesBetween(lock, target).map(({ text }) => text)
  const nothing = {
    switched: undefined,
    generation: generations.known.at(-1)?.generation ?? lock.generation,
    to,
    plan: { changes, undo: [], drops: [] },
    undone: [],
    archive: null,
    stays: null,
    snapshot: null,
  }
  if (isSame(target, lock)) return nothing
  if (dryRun) await assertInStore(directory, to, target)
  else await fetchAgain(directory, to, target)
  const names = await lockMigrationNames(directory, target)
  const undo = migrationsBeyond(names, await readLedger(directory))
  if (withSnapshot && undo.length > 0) {
    const { generation, ...snapshot } = await restoreSnapshot({ ...rollback, target, names })
    return { ...nothing, generation, snapshot }
  }
  const stuck = undo.find(({ down }) => down === null)
  if (stuck) throw await irreversible(directory, to, stuck, names)
  if (undo.some(isOfHost)) await assertStopped(directory, to)
  const migrations = undo.map(({ module, name }) => ({ module, name }))
  const plan = {
    changes,
    undo: migrations.map(({ module, name }) => `${module}/${name}`),
    drops: await planUndo(directory, migrations, rollback.staging),
  }
  if (dryRun) return { ...nothing, plan }
  terminal.note(planText(to, plan))
  if (undo.length > 0) {
    await assertArchivable(directory, 'undone')
    await askBeforeLoss(terminal, rollback.yes, 'Undo that?')
  }
  const switched = await terminal.during('Going back', () =>
    applyChange({ directory, command, former: lock, modules, host, anyLock: true, undo: migrations }),
  )
  const { archive = null, stays = null } = switched.undone ?? {}
  const { generation } = switched
  return { ...nothing, switched, generation, plan, undone: archive === null ? [] : plan.undo, archive, stays }
}

/** For people. */
export function planText(to: number, { changes, undo, drops }: RollbackPlan): string {
  return [
    `Back to generation ${to}: ${changes.join(', ')}`,
    ...undo.map((migration) => `  undoes the migration ${migration}`),
    ...drops.map((drop) => `  drops ${dropText(drop)}`),
    ...(undo.length > 0 ? ['An archive of the database precedes it.'] : []),
  ].join('\n')
}

async function assertInStore(directory: string, to: number, target: Lock): Promise<void> {
  const missing = await missingInStore(directory, target, [...lockedPackages(target).keys()])
  if (missing.length === 0) return
  throw new Failure(
    'refused',
    'store-incomplete',
    `A dry run fetches nothing, and the store does not have all of generation ${to}: ${missing.join(', ')}.`,
    'Nothing was changed. Run it without --dry-run on a terminal: it fetches them, shows the plan and asks.',
  )
}

/** What is older than the last generations may have left the store. */
async function fetchAgain(directory: string, to: number, target: Lock): Promise<void> {
  try {
    await restoreStore(directory, target, [...lockedPackages(target).keys()], await npmOptions(directory))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(
      error.exitCode === exitCodes.refused ? 'refused' : 'notFound',
      error.code,
      `Generation ${to} cannot be gone back to: the store has not all of it any more, and it cannot be fetched again. ${error.message}`,
      `Put back what it came from, or install another version. The store keeps the last ${KEPT} generations.`,
      { cause: error },
    )
  }
}

async function irreversible(
  directory: string,
  to: number,
  { module, name }: AppliedMigration,
  names: MigrationNames,
): Promise<Failure> {
  // One that cannot be read is no way back to offer.
  const snapshot = await findSnapshot(directory, names).catch(() => undefined)
  return new Failure(
    'refused',
    'irreversible',
    `Generation ${to} cannot be gone back to: the migration ${name} of ${module} cannot be undone.`,
    snapshot === undefined
      ? `Nothing was changed. Go on with a newer version of ${module} instead, or restore a backup that was made before it.`
      : `Nothing was changed. Go on with a newer version of ${module} instead, or lose what was written since ${snapshot.at}: app module-rollback ${to} --restore-snapshot`,
  )
}

/** Without a number: the last generation that had something else installed, and served. */
function find({ known, unreadable }: Generations, lock: Lock, number: number | undefined): Generation {
  const failed = known.map(({ takesBack }) => takesBack)
  const found =
    number === undefined
      ? known.findLast((past) => !failed.includes(past.generation) && !isSame(past.lock, lock))
      : known.find((past) => past.generation === number)
  if (found) return found
  const broken = unreadable.find(({ generation }) => generation === number)
  if (broken) {
    throw new Failure(
      'notFound',
      'generation-unreadable',
      `Generation ${number} cannot be gone back to: ${asFailure(broken.error).message}`,
      'Put the file back from a backup of the folder, or go back to another one: app module-history',
    )
  }
  throw new Failure(
    'notFound',
    'no-such-generation',
    number === undefined
      ? 'There is no former generation to go back to.'
      : `There is no generation ${number}.`,
    'See what there was: app module-history',
  )
}

/** A host goes on until it is restarted, and needs its own tables until then; so do others of the database. */
async function assertStopped(directory: string, to: number): Promise<void> {
  const isRunning = (await callRunningHost(directory, { method: 'GET', path: '/state' })) !== undefined
  const others = isRunning ? [] : (await otherHosts(directory)).map(nameOfHost)
  if (!isRunning && others.length === 0) return
  const who = isRunning ? 'the running one' : others.join(', ')
  throw new Failure(
    'refused',
    'host-running',
    `Generation ${to} has a former host, and the tables of a newer one are needed until that ends: ${who}.`,
    'Nothing was changed. Stop it, run the command again, then start the application. One that was killed counts for half a minute.',
  )
}
