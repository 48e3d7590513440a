import { type Lock, type ModulePackage, readPackage, storedModule } from '@mortise/host'
import { lockedModule } from '../../store/installed-packages.ts'
import { holds } from '../../store/staging.ts'

/** The version that an upgrade replaces. */
export interface PreviousVersion {
  readonly version: string
  /** SHA-512 of its tarball (SRI). */
  readonly integrity: string
  /**
   * Undefined if the package is missing from the store or damaged. That does not block its upgrade.
   */
  readonly package: ModulePackage | undefined
  readonly enabled: boolean
}

/** The installed version of a module, or undefined. */
export async function previousVersionOf(
  id: string,
  lock: Lock,
  directory: string,
): Promise<PreviousVersion | undefined> {
  const locked = lockedModule(lock, id)
  if (locked === undefined) return undefined
  const { version, integrity, enabled, tree } = locked
  const place = storedModule(directory, locked)
  const found = (await holds(place, tree)) ? await readPackage(place).catch(() => undefined) : undefined
  return { version, integrity, package: found, enabled }
}
