import { existsSync, realpathSync } from 'node:fs'
import { type Lock, readLock, storedModule } from '@mortise/host'
import { ownFolder } from '../application/pinned-host.ts'
import { type HostPackage, hostOf } from '../store/host-package.ts'
import { holds } from '../store/staging.ts'
import { Failure } from '../terminal/failure.ts'
import { fetchPackage } from './fetch/fetch-package.ts'
import type { NpmOptions } from './fetch/npm-options.ts'
import type { HostCandidate } from './fetch/stage-host.ts'
import { checkNotRequired } from './plan/checks/not-required.ts'
import type { HostPlan } from './plan/host-plan.ts'
import type { Source } from './resolve/source.ts'
import { checkSignatureKept } from './verify/signature.ts'

/** Whether `source` holds exactly the pinned host, and the store has it. Nothing is staged to find that out. */
export async function isPinnedAlready(
  source: Source,
  { host }: Lock,
  directory: string,
  npm: NpmOptions,
): Promise<boolean> {
  if (host === undefined) return false
  const { integrity } = await fetchPackage(source, npm)
  return integrity === host.integrity && (await holds(storedModule(directory, host), host.tree))
}

/** The host that was staged, unless it is pinned already. */
export async function freshHost(
  staged: HostCandidate | undefined,
  { host }: Lock,
  directory: string,
): Promise<HostCandidate | undefined> {
  if (staged === undefined) return undefined
  checkSignatureKept(staged, host)
  const isPinned = host?.integrity === staged.integrity && host.tree === staged.tree
  return isPinned && (await holds(storedModule(directory, host), host.tree)) ? undefined : staged
}

/** The host that is pinned, or this one. @throws {Failure} where it is missing: nothing can be held against it */
export function hostThere(lock: Lock, directory: string): HostPackage {
  const host = hostOf(lock, directory)
  if (existsSync(host.directory)) return host
  throw new Failure(
    'refused',
    'host-incomplete',
    `The host ${host.version} that modules.lock.json names is missing in the store, so nothing can be held against it.`,
    'Run "app module-install" without a name first: it brings the store in line with the lock.',
  )
}

/** The host that runs this is, where it is the pinned one, what was installed, to the byte. @throws {Failure} */
export async function assertSound(directory: string): Promise<void> {
  const { host } = await readLock(directory)
  if (host === undefined) return
  const place = storedModule(directory, host)
  if (!existsSync(place) || realpathSync(place) !== ownFolder || (await holds(place, host.tree))) return
  throw new Failure(
    'refused',
    'host-incomplete',
    `The host ${host.version} in the store is not what was installed: its files differ.`,
    'Run "app module-install" without a name: it brings the store in line with the lock.',
  )
}

/** The modules to switch off for a host. @throws {Failure} where that was not asked for, or others require them */
export async function leavingFor(
  { to, outside }: HostPlan,
  lock: Lock,
  directory: string,
  disableIncompatible = false,
): Promise<string[]> {
  const ids = outside.map(({ id }) => id)
  if (ids.length > 0 && !disableIncompatible) {
    const needs = outside.map((module) => `${module.id} ${module.version} needs ${module.needs}`)
    throw new Failure(
      'refused',
      'host-range',
      `The host ${to} is refused: ${needs.join(', ')}.`,
      `Upgrade them first (app module-upgrade ${ids.join(' ')}), or switch them off: in the same change with "app host-upgrade --disable-incompatible", or before it with "app module-disable".`,
    )
  }
  await checkNotRequired(directory, lock, ids, 'disabled')
  return ids
}
