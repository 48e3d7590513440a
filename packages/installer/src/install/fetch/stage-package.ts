import type { LockedPackage } from '@mortise/application'
import semver from 'semver'
import { otherName, otherVersion } from '../../failures/index.ts'
import { type LockedDependencies, type PackageJson, readPackageJson } from '../../store/package-json.ts'
import { type FinalizedPackage, makeStaging, seal } from '../../store/staging.ts'
import type { Source } from '../resolve/source.ts'
import { installDependencies } from './dependencies.ts'
import { fetchPackage } from './fetch-package.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { type AgeLimit, type Ages, noAges } from './release-age.ts'
import { unpack } from './unpack.ts'
import type { Signed } from './verify-signature.ts'

/** A staged package, complete. None of its code has run. */
export interface Staged<Package> extends FinalizedPackage {
  readonly source: Source
  readonly from: string
  readonly integrity: string
  readonly signed?: Signed | undefined
  readonly deprecated?: string | undefined
  /** Undefined if it was not fetched to be installed: restored, from a bundle, from the store. */
  readonly ages?: Ages | undefined
  readonly package: Package
  readonly json: PackageJson
  /** npm's choice of its dependencies; undefined if it has only bundled ones or none. */
  readonly dependencies: LockedDependencies | undefined
}

export interface StageOptions {
  readonly directory: string
  readonly npm: NpmOptions
  /** The integrity that the tarball must have, if known. */
  readonly integrity?: string
  /** The previous choice of dependencies, to repeat it. */
  readonly dependencies?: LockedDependencies | undefined
  /** For the age of registry packages; without it, the newest versions in range. */
  readonly limit?: AgeLimit | undefined
  /** Leaves the dependencies out. */
  readonly alone?: boolean
}

/**
 * Fetches, unpacks and completes a package.
 * @param read checks the package before its dependencies are fetched, and returns its description
 */
export async function stagePackage<Package>(
  source: Source,
  { directory, npm, integrity: expected, dependencies: locked, limit, alone }: StageOptions,
  read: (staging: string) => Promise<Package>,
): Promise<Staged<Package>> {
  const fetched = await fetchPackage(source, npm, expected, limit)
  const { data, from, integrity, signed, deprecated, ages: own = noAges } = fetched
  const staging = await makeStaging(directory)
  await unpack(data, staging, source.target)
  const found = await read(staging)
  const json = await readPackageJson(staging)
  checkIdentity(json, source)
  // Exactly what is installed keeps its dependencies, whatever their age.
  const installed = limit?.installed.find((locked) => locked.integrity === integrity)
  const chosen = alone
    ? undefined
    : await installDependencies(staging, await makeStaging(directory), npm, {
        locked: locked ?? installed?.dependencies,
        limit,
      })
  const ages = { ...own, ...joined(own, chosen?.ages ?? noAges) }
  const dependencies = chosen?.packages
  const sealed = await seal(staging, `${json.name}@${json.version}`)
  return { source, from, integrity, signed, deprecated, ages, package: found, json, dependencies, ...sealed }
}

const joined = (one: Ages, other: Ages) => ({
  young: [...one.young, ...other.young],
  waiting: [...one.waiting, ...other.waiting],
  undated: [...one.undated, ...other.undated],
})

/** Its entry in the lock file. */
export function lockedAs({
  source,
  json,
  integrity,
  tree,
  dependencies,
  signed,
}: Staged<unknown>): LockedPackage {
  const { name, version } = json
  return {
    ...{ package: name, version, spec: source.record(version), integrity, tree },
    ...(dependencies && { dependencies }),
    ...(signed && { signed }),
  }
}

/** A registry finds a package by name and version, and the package must name the same. */
function checkIdentity({ name, version }: PackageJson, { package: expected, range, target }: Source): void {
  if (expected !== undefined && name !== expected) throw otherName({ target, name, expected })
  if (range !== undefined && !semver.satisfies(version, range, { includePrerelease: true })) {
    throw otherVersion({ name, range, target, version })
  }
}
