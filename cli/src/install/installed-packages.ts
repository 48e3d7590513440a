import { type Lock, type LockedModule, type ModulePackage, readPackage, storedModule } from '@mortise/host'
import { Failure } from '../failure.ts'
import type { Candidate } from './candidate.ts'
import { installedId } from './source.ts'
import { holds } from './staging.ts'

/** The entry of a module in the lock. Ids are whatever packages say: `constructor` is one. */
export function lockedModule(lock: Lock, id: string): LockedModule | undefined {
  return Object.hasOwn(lock.modules, id) ? lock.modules[id] : undefined
}

/** The id of the installed module that a name means. @throws {Failure} not found */
export function requireInstalled(lock: Lock, name: string): string {
  const id = installedId(lock, name)
  if (id !== undefined) return id
  const installed = Object.keys(lock.modules)
  throw new Failure(
    'notFound',
    'not-installed',
    `${name} is not installed.`,
    installed.length > 0 ? `Installed are ${installed.join(', ')}.` : 'Nothing is installed.',
  )
}

/** Reads an installed package from the store. @throws {Failure} where the store has it not */
export async function readInstalled(
  id: string,
  locked: LockedModule,
  directory: string,
): Promise<ModulePackage> {
  try {
    return await readPackage(storedModule(directory, locked))
  } catch (error) {
    throw new Failure(
      'refused',
      'store-incomplete',
      `The module ${id} is installed, but the store does not have it: ${(error as Error).message}`,
      'Run "app module-install" without a name: it brings the store in line with the lock.',
      { cause: error },
    )
  }
}

/** The installed modules that stay, disabled ones aside: those neither serve nor offer anything. */
export async function installedBeside(
  fresh: readonly Candidate[],
  lock: Lock,
  directory: string,
): Promise<ModulePackage[]> {
  const replaced = new Set(fresh.map((candidate) => candidate.package.manifest.id))
  const staying = Object.entries(lock.modules).filter(([id, { enabled }]) => enabled && !replaced.has(id))
  return await Promise.all(staying.map(([id, locked]) => readInstalled(id, locked, directory)))
}

/** Whether exactly this is installed and lies unharmed in the store. */
export async function isInstalled(candidate: Candidate, lock: Lock, directory: string): Promise<boolean> {
  const { manifest, name, version } = candidate.package
  const locked = lockedModule(lock, manifest.id)
  if (locked === undefined) return false
  if (locked.package !== name) {
    throw new Failure(
      'refused',
      'id-taken',
      `The package ${name} is refused: the module "${manifest.id}" is installed already, from the package ${locked.package}.`,
      `Remove it first, if this one is to take its place: app module-remove ${manifest.id}`,
    )
  }
  if (locked.version !== version || locked.integrity !== candidate.integrity) return false
  return await holds(storedModule(directory, locked), locked.tree)
}
