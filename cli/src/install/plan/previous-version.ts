import { type Lock, type ModulePackage, readPackage, storedModule } from '@mortise/host'
import { lockedModule } from '../../store/installed-packages.ts'
import { holds } from '../../store/staging.ts'

/** What an upgrade takes the place of. */
export interface PreviousVersion {
  readonly version: string
  /** SHA-512 of its tarball (SRI). */
  readonly integrity: string
  /** Undefined where it is missing in the store, or damaged: it does not stand in the way of its own upgrade then. */
  readonly package: ModulePackage | undefined
  /** Whether it is switched on. */
  readonly enabled: boolean
}

/** What is installed of a module; undefined where nothing is. */
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
