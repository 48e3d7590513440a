import semver from 'semver'
import { otherName, otherVersion } from '../../failures/index.ts'
import { type PackageJson, type PinnedDependencies, readPackageJson } from '../../store/package-json.ts'
import { type FinalizedPackage, makeStaging, seal } from '../../store/staging.ts'
import type { Source } from '../resolve/source.ts'
import { installDependencies } from './dependencies.ts'
import { fetchPackage } from './fetch-package.ts'
import type { NpmOptions } from './npm-options.ts'
import { unpack } from './unpack.ts'
import type { Signed } from './verify-signature.ts'

/** A package that lies in staging, complete; nothing of it has run. */
export interface Staged<Package> extends FinalizedPackage {
  readonly source: Source
  /** For people: where its bytes came from. */
  readonly from: string
  /** SHA-512 of its tarball (SRI). */
  readonly integrity: string
  /** What was verified of its signature. */
  readonly signed?: Signed | undefined
  /** What its registry says, where its author has deprecated it. */
  readonly deprecated?: string | undefined
  /** What it says it is. */
  readonly package: Package
  readonly json: PackageJson
  /** What npm chose for its dependencies; undefined where it has none but bundled ones. */
  readonly dependencies: PinnedDependencies | undefined
}

export interface StageOptions {
  readonly directory: string
  readonly npm: NpmOptions
  /** The integrity that the tarball must have, where it is known. */
  readonly integrity?: string
  /** The dependencies to choose again. */
  readonly dependencies?: PinnedDependencies | undefined
}

/**
 * Fetches, unpacks and completes a package.
 * @param read checks what came, before its dependencies do, and says what it is
 * @throws {Failure}
 */
export async function stagePackage<Package>(
  source: Source,
  { directory, npm, integrity: expected, dependencies: pinned }: StageOptions,
  read: (staging: string) => Promise<Package>,
): Promise<Staged<Package>> {
  const { data, from, integrity, signed, deprecated } = await fetchPackage(source, npm, expected)
  const staging = await makeStaging(directory)
  await unpack(data, staging, source.target)
  const found = await read(staging)
  const json = await readPackageJson(staging)
  checkIdentity(json, source)
  const dependencies = await installDependencies(staging, await makeStaging(directory), npm, pinned)
  const sealed = await seal(staging, `${json.name}@${json.version}`)
  return { source, from, integrity, signed, deprecated, package: found, json, dependencies, ...sealed }
}

/** A registry answers by name and version; the package itself must say the same. */
function checkIdentity({ name, version }: PackageJson, { package: expected, range, target }: Source): void {
  if (expected !== undefined && name !== expected) {
    throw otherName({ target, name, expected })
  }
  if (range !== undefined && !semver.satisfies(version, range, { includePrerelease: true })) {
    throw otherVersion({ name, range, target, version })
  }
}
