import type { LockedPackage } from '@mortise/host'
import { valid } from 'semver'
import { type Failure, noHost } from '../../failures/index.ts'
import { type HostPackage, hostPackageName, versionInside } from '../../store/host-package.ts'
import { readPackageJson } from '../../store/package-json.ts'
import type { Source } from '../resolve/source.ts'
import { checkDescription } from './contents.ts'
import { type Staged, type StageOptions, stagePackage } from './stage-package.ts'

export type HostCandidate = Staged<HostPackage>

/** Fetches, unpacks and completes a host. */
export async function stageHost(source: Source, options: StageOptions): Promise<HostCandidate> {
  const staged = await stagePackage(source, options, (staging) => readHost(staging, source.target))
  checkHostInside(staged.package, source.target)
  return staged
}

/** @throws {Failure} if the folder contains something else */
export async function readHost(directory: string, what: string): Promise<HostPackage> {
  await checkDescription(directory, what)
  const { name, version } = await readPackageJson(directory)
  if (name !== hostPackageName) {
    throw refused(what, `it is ${name}, and a host is the package ${hostPackageName}`)
  }
  // The version becomes part of a path.
  if (valid(version) !== version) throw refused(what, `its version is ${JSON.stringify(version)}`)
  return { version, directory }
}

/**
 * Modules see the version of the inner host package, so both versions must be equal. They are
 * released together.
 */
export function checkHostInside(host: HostPackage, what: string): void {
  const inside = versionInside(host.directory)
  if (inside === host.version) return
  throw refused(
    what,
    `its version is ${host.version}, and the version of its @mortise/host is ${inside ?? 'missing'}`,
  )
}

export function lockedHost(candidate: HostCandidate): LockedPackage {
  const { package: found, source, integrity, tree, dependencies, signed } = candidate
  return {
    package: hostPackageName,
    version: found.version,
    spec: source.record(found.version),
    integrity,
    tree,
    ...(dependencies && { dependencies }),
    ...(signed && { signed }),
  }
}

function refused(what: string, reason: string): Failure {
  return noHost({ target: what, reason })
}
