import { type Lock, storedModule } from '@mortise/host'
import { Failure } from '../../failures/index.ts'
import { lockedModule } from '../../store/installed-packages.ts'
import { holds } from '../../store/staging.ts'
import type { Candidate } from '../fetch/candidate.ts'

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
