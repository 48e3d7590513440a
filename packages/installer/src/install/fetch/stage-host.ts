import { valid } from 'semver'
import { noHost } from '../../failures/index.ts'
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
export async function readHost(directory: string, target: string): Promise<HostPackage> {
  await checkDescription(directory, target)
  const { name, version } = await readPackageJson(directory)
  if (name !== hostPackageName) {
    throw noHost({ target, reason: `it is ${name}, and a host is the package ${hostPackageName}` })
  }
  // The version becomes part of a path.
  if (valid(version) !== version)
    throw noHost({ target, reason: `its version is ${JSON.stringify(version)}` })
  return { version, directory }
}

/**
 * Modules see the version of the inner host package, so both versions must be equal. They are
 * released together.
 */
export function checkHostInside({ directory, version }: HostPackage, target: string): void {
  const inside = versionInside(directory) ?? 'missing'
  if (inside === version) return
  const reason = `its version is ${version}, and the version of its @mortise/host is ${inside}`
  throw noHost({ target, reason })
}
