import { type Lock, type LockedModule, type ModulePackage, readPackage, storedModule } from '@mortise/host'
import { nothingInstalled, notInstalled, storeIncomplete } from '../failures/index.ts'

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
  throw installed.length > 0
    ? notInstalled({ name, installed: installed.join(', ') })
    : nothingInstalled({ name })
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
    throw storeIncomplete({ name: `the module ${id}`, reason: (error as Error).message, cause: error })
  }
}
