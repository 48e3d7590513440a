import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  decisionAt,
  isServing,
  type LockedModule,
  type LockedPackage,
  type LockFile,
  lockedPackages,
  type ModulePackage,
  nearest,
  readPackage,
  storedModule,
} from '@mortise/application'
import { type Failure, notInstalled, storeIncomplete } from '../failures/index.ts'

/** The generations whose packages and snapshots stay: the reach of a rollback. */
export const KEPT = 5

/**
 * The lock file's entry of a module. Packages choose their ids freely: `constructor` is possible.
 */
export function lockedModule(lock: LockFile, id: string): LockedModule | undefined {
  return Object.hasOwn(lock.modules, id) ? lock.modules[id] : undefined
}

/** What installs exactly this package again. */
export function exactSpec({ spec, package: name, version }: LockedPackage, directory: string): string {
  if (spec.startsWith('file:')) return resolve(directory, spec.slice('file:'.length))
  return `${spec.startsWith('npm:') ? 'npm:' : ''}${name}@${version}`
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
  if (id === undefined) throw unknownHere(lock, name)
  return id
}

/** The ids and package names of installed modules that `name` may be a typo of. */
export function nearInstalled(lock: LockFile, name: string): string[] {
  const packages = Object.values(lock.modules).map((locked) => locked.package)
  return nearest(name, [...Object.keys(lock.modules), ...packages])
}

/** The failure for a name that is not installed. */
export function unknownHere(lock: LockFile, name: string): Failure {
  const installed = Object.keys(lock.modules)
  const near = nearInstalled(lock, name)
  if (near.length > 0) return notInstalled({ hint: 'misspelt', name, near: near.join(' or ') })
  return installed.length > 0
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

/** Undefined if the module is installed and is to serve. */
export function whyIdle(lock: LockFile, module: string): string | undefined {
  const locked = lock.modules[module]
  if (locked === undefined) return 'not installed'
  const decision = decisionAt(locked, Date.now())
  return isServing(decision) ? undefined : decision.state
}
