import { type Lock, type LockedModule, type ModulePackage, readPackage, storedModule } from '@mortise/host'
import { Failure } from '../failures/index.ts'

/** Generations whose packages stay in the store, and whose snapshots stay, the present one included: as far as rolling back reaches. */
export const KEPT = 5

/** The entry of a module in the lock. Ids are whatever packages say: `constructor` is one. */
export function lockedModule(lock: Lock, id: string): LockedModule | undefined {
  return Object.hasOwn(lock.modules, id) ? lock.modules[id] : undefined
}

/** The id of an installed module that `name` (an id or a package name) means. */
export function installedId(lock: Lock, name: string): string | undefined {
  if (Object.hasOwn(lock.modules, name)) return name
  return Object.keys(lock.modules).find((id) => lock.modules[id]?.package === name)
}

/** The same. @throws {Failure} not found */
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
