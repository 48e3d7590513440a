import { existsSync } from 'node:fs'
import {
  type LockedModule,
  type LockFile,
  lockedPackages,
  type ModulePackage,
  readPackage,
  storedModule,
} from '@mortise/host'
import { notInstalled, storeIncomplete } from '../failures/index.ts'

/** The generations whose packages and snapshots stay: the reach of a rollback. */
export const KEPT = 5

/**
 * The lock file's entry of a module. Packages choose their ids freely: `constructor` is possible.
 */
export function lockedModule(lock: LockFile, id: string): LockedModule | undefined {
  return Object.hasOwn(lock.modules, id) ? lock.modules[id] : undefined
}

/** The id of the installed module with this id or package name. */
export function installedId(lock: LockFile, name: string): string | undefined {
  if (Object.hasOwn(lock.modules, name)) return name
  return Object.keys(lock.modules).find((id) => lock.modules[id]?.package === name)
}

/**
 * The id of the installed module with this id or package name.
 * @throws {Failure} not found
 */
export function requireInstalled(lock: LockFile, name: string): string {
  const id = installedId(lock, name)
  if (id !== undefined) return id
  const installed = Object.keys(lock.modules)
  throw installed.length > 0
    ? notInstalled({ hint: 'installed', name, installed: installed.join(', ') })
    : notInstalled({ hint: 'nothing', name })
}

/** @throws {Failure} if the store lacks it */
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

export const absentPackages = (directory: string, lock: LockFile): string[] =>
  [...lockedPackages(lock)].flatMap(([name, locked]) =>
    existsSync(storedModule(directory, locked)) ? [] : [name],
  )

/** Undefined if the module is installed and enabled. */
export function whyIdle(lock: LockFile, module: string): string | undefined {
  const locked = lock.modules[module]
  if (locked === undefined) return 'not installed'
  return locked.enabled ? undefined : 'disabled'
}
