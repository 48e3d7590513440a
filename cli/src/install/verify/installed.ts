import { type Lock, type ModulePackage, storedModule } from '@mortise/host'
import { lockedModule, readInstalled } from '../../store/installed-packages.ts'
import { holds } from '../../store/staging.ts'
import { Failure } from '../../terminal/failure.ts'
import type { Candidate } from '../fetch/candidate.ts'

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
