import { findSnapshot, type RestoredSnapshot, restoreSnapshot } from '../data/restore-snapshot.ts'
import { exitCodes, Failure } from '../failure.ts'
import {
  type AppliedMigration,
  callRunningHost,
  hostMigrations,
  type Lock,
  lockedPackages,
  nameOfHost,
  otherHosts,
  readLock,
} from '../host.ts'
import type { Terminal } from '../terminal.ts'
import {
  lockMigrationNames,
  type MigrationNames,
  migrationsBeyond,
  readLedger,
} from './applied-migrations.ts'
import { applyChange, type Switched } from './apply-change.ts'
import { type Generation, KEPT, readGenerations } from './generations.ts'
import { isSame } from './in-force.ts'
import { npmOptions } from './npm-options.ts'
import { restoreStore } from './restore-store.ts'

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
}

export interface RolledBack {
  readonly switched: Switched | undefined
  readonly generation: number
  /** The generation whose modules are installed again. */
  readonly to: number
  /** The migrations that were undone: `api-cart/002-note`. */
  readonly undone: readonly string[]
  /** Why they were not: another host of the database needs them. */
  readonly stays: string | null
  /** What came back instead, and what was lost. */
  readonly snapshot: Omit<RestoredSnapshot, 'generation'> | null
}

/**
 * Installs what a former generation had. The migrations that its packages do not have are undone by what the ledger
 * recorded of them, so no module's code is needed. Data of modules that it does not have stay, as when they are
 * removed. Run it while the application is locked.
 *
 * @throws {Failure} where there is no such generation (3), or a migration in between cannot be undone (4)
 */
export async function rollbackModules(rollback: Rollback): Promise<RolledBack> {
  const { directory, command, withSnapshot } = rollback
  const lock = await readLock(directory)
  const generations = await readGenerations(directory)
  const { generation: to, lock: target } = find(generations, lock, rollback.generation)
  const { modules, host = null } = target
  const nothing = {
    switched: undefined,
    generation: generations.at(-1)?.generation ?? lock.generation,
    to,
    undone: [],
    stays: null,
    snapshot: null,
  }
  if (isSame(target, lock)) return nothing
  await fetchAgain(directory, to, target)
  const names = await lockMigrationNames(directory, target)
  const undo = migrationsBeyond(names, await readLedger(directory))
  if (withSnapshot && undo.length > 0) {
    const { generation, ...snapshot } = await restoreSnapshot({ ...rollback, target, names })
    return { ...nothing, generation, snapshot }
  }
  const stuck = undo.find(({ down }) => down === null)
  if (stuck) throw await irreversible(directory, to, stuck, names)
  if (undo.some(({ module }) => module === hostMigrations.module)) await assertStopped(directory, to)
  const switched = await applyChange({
    directory,
    command,
    former: lock,
    modules,
    host,
    anyLock: true,
    undo: undo.map(({ module, name }) => ({ module, name })),
  })
  const { stays = null, generation } = switched
  const undone = stays === null ? undo.map(({ module, name }) => `${module}/${name}`) : []
  return { ...nothing, switched, generation, undone, stays }
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
      ? `Go on with a newer version of ${module} instead, or restore a backup that was made before it.`
      : `Go on with a newer version of ${module} instead, or lose what was written since ${snapshot.at}: app module-rollback ${to} --restore-snapshot`,
  )
}

/** Without a number: the last generation that had something else installed, and served. */
function find(generations: readonly Generation[], lock: Lock, number: number | undefined): Generation {
  const failed = generations.map(({ takesBack }) => takesBack)
  const found =
    number === undefined
      ? generations.findLast((past) => !failed.includes(past.generation) && !isSame(past.lock, lock))
      : generations.find((past) => past.generation === number)
  if (found) return found
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
    'Stop it, give the same command again, then start the application. One that was killed counts for half a minute.',
  )
}
