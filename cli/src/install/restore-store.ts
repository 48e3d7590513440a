import { Failure } from '../failure.ts'
import {
  type Lock,
  type LockedModule,
  type LockedPackage,
  lockedPackages,
  readLock,
  storedModule,
} from '../host.ts'
import { activate } from './apply-change.ts'
import { type Candidate, stage } from './candidate.ts'
import { cameFromOutside, inForce } from './in-force.ts'
import type { NpmOptions } from './npm-options.ts'
import { lockedSource } from './source.ts'
import { stageHost } from './stage-host.ts'
import type { StageOptions } from './stage-package.ts'
import { holds, moveToStore } from './staging.ts'

/**
 * Brings the store in line with the lock: fetches what is missing or damaged once more, and accepts it only
 * where it is, to the byte, what was installed.
 *
 * @param names the packages to look after, as `lockedPackages` has them
 * @returns those that were fetched
 * @throws {Failure} the first; the others are fetched all the same
 */
export async function restoreStore(
  directory: string,
  lock: Lock,
  names: readonly string[],
  npm: NpmOptions,
): Promise<string[]> {
  const missing = await missingInStore(directory, lock, names)
  const failures: unknown[] = []
  for (const name of missing) {
    await restorePackage(directory, lock, name, npm).catch((error) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
  return missing
}

async function restorePackage(directory: string, lock: Lock, name: string, npm: NpmOptions): Promise<void> {
  const locked = lockedPackages(lock).get(name) as LockedPackage
  const staging = locked === lock.host ? stageHost : stage
  const candidate = await staging(lockedSource(locked, directory), asLocked(locked, directory, npm))
  checkLockedTree(candidate.tree, name, locked, locked === lock.host)
  await moveToStore(candidate.package.directory, storedModule(directory, locked), locked.tree)
}

/** Fetches a module that the lock names, to the byte, into the store of `folder`. @throws {Failure} */
export async function stageLocked(
  id: string,
  locked: LockedModule,
  directory: string,
  folder: string,
  npm: NpmOptions,
): Promise<Candidate> {
  const candidate = await stage(lockedSource(locked, directory), asLocked(locked, folder, npm))
  checkLockedTree(candidate.tree, id, locked, false)
  return candidate
}

const asLocked = (
  { integrity, dependencies }: LockedPackage,
  directory: string,
  npm: NpmOptions,
): StageOptions => ({ directory, npm, integrity, dependencies })

function checkLockedTree(tree: string, name: string, locked: LockedPackage, isHost: boolean): void {
  if (tree === locked.tree) return
  throw new Failure(
    'refused',
    'integrity',
    `${locked.package} ${locked.version} was fetched, but with its dependencies it is not what was installed: they may differ on this kind of machine.`,
    isHost
      ? `Install it on purpose to accept them: app host-upgrade ${locked.version}`
      : `Install it on purpose to accept them: app module-remove ${name}, then app module-install ${locked.spec}`,
  )
}

/** Those of `names` that the store has not, or not as they were installed. */
export async function missingInStore(
  directory: string,
  lock: Lock,
  names: readonly string[],
): Promise<string[]> {
  const missing: string[] = []
  for (const name of names) {
    const locked = lockedPackages(lock).get(name)
    if (locked !== undefined && !(await holds(storedModule(directory, locked), locked.tree)))
      missing.push(name)
  }
  return missing
}

/**
 * Has the running host try again the modules that have failed in it. The lock stays as it is.
 * @returns whether it serves them; undefined where nothing was restored, no host runs, or the lock came from outside,
 *   which is taken up with a snapshot only
 * @throws {Failure} where one of them does not answer
 */
export async function takeUpRestored(
  directory: string,
  restored: readonly string[],
): Promise<boolean | undefined> {
  if (restored.length === 0) return undefined
  if (cameFromOutside(await readLock(directory), await inForce(directory))) return undefined
  const outcome = await activate(directory, true)
  if (outcome === 'no host') return undefined
  if (outcome === 'served') return true
  throw new Failure(
    'activation',
    'activation-failed',
    `The store is in line with the lock again, but the running host could not take that up: ${outcome.reason}. It serves as before.`,
    'Correct what it says, then restart the host.',
  )
}
