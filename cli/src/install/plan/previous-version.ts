import { type LockFile, type ModulePackage, readPackage, storedModule } from '@mortise/host'
import { lockedModule } from '../../store/installed-packages.ts'
import { holds } from '../../store/staging.ts'

export interface PreviousVersion {
  readonly version: string
  readonly integrity: string
  /** Undefined if the store lacks it or it is damaged, which does not block its upgrade. */
  readonly package: ModulePackage | undefined
  readonly enabled: boolean
}

/** The installed version of a module, or undefined. */
export async function previousVersionOf(
  id: string,
  lock: LockFile,
  directory: string,
): Promise<PreviousVersion | undefined> {
  const locked = lockedModule(lock, id)
  if (locked === undefined) return undefined
  const { version, integrity, enabled, tree } = locked
  const place = storedModule(directory, locked)
  const found = (await holds(place, tree)) ? await readPackage(place).catch(() => undefined) : undefined
  return { version, integrity, package: found, enabled }
}
