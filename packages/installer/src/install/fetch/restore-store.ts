import { differenceOf, type LockedPackage, type LockFile, lockedPackages } from '@mortise/application'
import { lockDiffers, otherTree } from '../../failures/index.ts'
import { isStored, moveToStore } from '../../store/staging.ts'
import { lockedSource } from '../resolve/source.ts'
import { type Candidate, stage } from './candidate.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { type HostCandidate, stageHost } from './stage-host.ts'
import type { StageOptions } from './stage-package.ts'

/**
 * Restores the store from the lock file: fetches missing or damaged packages again, and accepts
 * each only if it is byte for byte the installed one.
 * @param names the packages to check, as in `lockedPackages`
 * @returns the fetched packages
 */
export async function restoreStore(
  directory: string,
  lock: LockFile,
  names: readonly string[],
  npm: NpmOptions,
): Promise<string[]> {
  const missing = await missingInStore(directory, lock, names)
  await restorePackages(directory, await stageLocked(directory, lock, missing, { directory, npm }))
  return missing
}

/** A package of a lock file that was fetched again and is in staging. */
export type Restorable = { readonly name: string; readonly locked: LockedPackage } & (
  | { readonly module: Candidate; readonly host?: never }
  | { readonly host: HostCandidate; readonly module?: never }
)

/** Fetches packages of `lock` into staging, each byte for byte the installed one. */
export async function stageLocked(
  directory: string,
  lock: LockFile,
  names: readonly string[],
  options: StageOptions,
): Promise<Restorable[]> {
  const staged: Restorable[] = []
  for (const name of names) {
    const locked = lockedPackages(lock).get(name) as LockedPackage
    const { integrity, dependencies } = locked
    const source = lockedSource(locked, directory)
    const exactly = { ...options, integrity, dependencies }
    const found =
      locked === lock.host
        ? { host: await stageHost(source, exactly) }
        : { module: await stage(source, exactly) }
    const candidate = found.host ?? found.module
    const { package: packageName, version, spec } = locked
    const difference = differenceOf(locked, { name: packageName, version: candidate.package.version })
    if (difference !== undefined) throw lockDiffers({ difference })
    if (candidate.tree !== locked.tree) {
      throw locked === lock.host
        ? otherTree({ hint: 'host', name: packageName, version })
        : otherTree({ hint: 'module', name: packageName, version, id: name, spec })
    }
    staged.push({ name, locked, ...found })
  }
  return staged
}

export async function restorePackages(directory: string, staged: readonly Restorable[]): Promise<void> {
  for (const { locked, module, host } of staged)
    await moveToStore(directory, locked, (host ?? module).package.directory)
}

export async function missingInStore(
  directory: string,
  lock: LockFile,
  names: readonly string[],
): Promise<string[]> {
  const missing: string[] = []
  for (const name of names) {
    const locked = lockedPackages(lock).get(name)
    if (locked !== undefined && !(await isStored(directory, locked))) missing.push(name)
  }
  return missing
}
