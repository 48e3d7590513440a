import { type LockFile, type ModulePackage, storedModule } from '@mortise/host'
import semver from 'semver'
import { hostPackageOf } from '../../store/host-package.ts'
import { readPackageJson } from '../../store/package-json.ts'
import type { HostCandidate } from '../fetch/stage-host.ts'
import { missingOf } from './checks/host-range.ts'
import { dependencyChanges, type PlannedDependencies } from './dependency-changes.ts'
import { listDependencies } from './dependency-list.ts'

/** The effect of another host, from its files and the modules' files. None of its code has run. */
export interface HostPlan extends PlannedDependencies {
  /** The version that runs the application now, and the new one. */
  readonly from: string
  readonly to: string
  /** The new one is older. */
  readonly isOlder: boolean
  /** Active modules that run on the new host. */
  readonly inRange: readonly string[]
  /** Active modules that do not run on it, and what they need: `host ^1.0.0`. */
  readonly outside: readonly { readonly id: string; readonly version: string; readonly needs: string }[]
  readonly origin: string
  readonly files: number
  readonly bytes: number
  readonly integrity: string
}

/** @param active the modules that will serve on it */
export async function hostPlanOf(
  candidate: HostCandidate,
  lock: LockFile,
  directory: string,
  active: readonly ModulePackage[],
): Promise<HostPlan> {
  const inRange: string[] = []
  const outside: HostPlan['outside'][number][] = []
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
  return {
    from,
    to,
    isOlder: semver.lt(to, from),
    inRange,
    outside,
    ...changes,
    origin,
    files,
    bytes,
    integrity,
  }
}
