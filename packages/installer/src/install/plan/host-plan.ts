import { type LockFile, type ModulePackage, storedModule } from '@mortise/application'
import semver from 'semver'
import { hostLeavesModules } from '../../failures/index.ts'
import { hostPackageOf } from '../../store/host-package.ts'
import { readPackageJson } from '../../store/package-json.ts'
import { provenanceChange } from '../fetch/provenance.ts'
import type { HostCandidate } from '../fetch/stage-host.ts'
import { missingOf } from './checks/host-range.ts'
import { checkNotRequired } from './checks/not-required.ts'
import { dependencyChanges } from './dependency-changes.ts'
import { listDependencies } from './dependency-list.ts'

export type HostPlan = Awaited<ReturnType<typeof hostPlanOf>>

/**
 * The effect of another host, from its files and the modules' files. None of its code has run.
 * @param active the modules that will serve on it
 * @returns `outside`: those that do not run on it, and what they need: `host ^1.0.0`
 */
export async function hostPlanOf(
  candidate: HostCandidate,
  lock: LockFile,
  directory: string,
  active: readonly ModulePackage[],
) {
  const inRange: string[] = []
  const outside: { id: string; version: string; needs: string }[] = []
  for (const module of active) {
    const { id } = module.manifest
    const needs = missingOf(module, await readPackageJson(module.directory), candidate.package)
    if (needs === undefined) inRange.push(id)
    else outside.push({ id, version: module.version, needs })
  }
  const now = await listDependencies(candidate.package.directory, candidate.dependencies)
  const before = lock.host && (await listDependencies(storedModule(directory, lock.host)))
  const changes = dependencyChanges(now, before?.length === 0 ? undefined : before)
  const { from: origin, files, bytes, integrity } = candidate
  const from = hostPackageOf(lock, directory).version
  const to = candidate.package.version
  const isOlder = semver.lt(to, from)
  const builders = provenanceChange(lock.host?.signed, candidate.signed)
  return {
    provenanceChange: builders,
    from,
    to,
    isOlder,
    inRange,
    outside,
    ...changes,
    origin,
    files,
    bytes,
    integrity,
  }
}

/** @throws {Failure} if that was not requested, or other modules require them */
export async function modulesToDisable(
  { to, outside }: HostPlan,
  lock: LockFile,
  directory: string,
  disableIncompatible = false,
): Promise<string[]> {
  const ids = outside.map(({ id }) => id)
  if (ids.length > 0 && !disableIncompatible) {
    const needs = outside.map((module) => `${module.id} ${module.version} needs ${module.needs}`)
    throw hostLeavesModules({ version: to, needs: needs.join(', '), ids: ids.join(' ') })
  }
  await checkNotRequired(directory, lock, ids, 'disabled')
  return ids
}
