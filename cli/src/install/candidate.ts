import { join, sep } from 'node:path'
import semver from 'semver'
import { Failure } from '../failure.ts'
import { ManifestError, type ModulePackage, readPackage } from '../host.ts'
import { checkContents } from './checks/contents.ts'
import {
  installDependencies,
  type PackageJson,
  type PinnedDependencies,
  readPackageJson,
} from './dependencies.ts'
import { fetchPackage } from './fetch-package.ts'
import { indexedNames } from './module-index.ts'
import type { NpmOptions } from './npm-options.ts'
import { isOwnFolder, type Source } from './source.ts'
import { makeStaging, type SealedTree, seal } from './staging.ts'
import { unpack } from './unpack.ts'
import type { Signed } from './verify-signature.ts'

/** A package that lies in staging, complete; nothing of it has run. */
export interface Candidate extends SealedTree {
  readonly source: Source
  /** For people: where its bytes came from. */
  readonly from: string
  /** SHA-512 of its tarball (SRI). */
  readonly integrity: string
  /** What was verified of its signature. */
  readonly signed?: Signed | undefined
  /** Whether it was switched on where it was bundled. */
  readonly enabled?: boolean
  readonly package: ModulePackage
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
 * @throws {Failure}
 */
export async function stage(
  source: Source,
  { directory, npm, integrity: expected, dependencies: pinned }: StageOptions,
): Promise<Candidate> {
  // A folder is read first as it lies there: npm packs none whose package.json is broken, and says it badly.
  if (source.kind === 'folder') await readManifest(source, source.target)
  const { data, from, integrity, signed } = await fetchPackage(source, npm, expected)
  const staging = await makeStaging(directory)
  await unpack(data, staging, source.target)
  await checkContents(staging, source.target)
  const found = await readManifest(source, staging)
  checkIdentity(found, source)
  const dependencies = await installDependencies(staging, await makeStaging(directory), npm, pinned)
  const sealed = await seal(staging, `${found.name}@${found.version}`)
  const json = await readPackageJson(staging)
  return { source, from, integrity, signed, package: found, json, dependencies, ...sealed }
}

/** @throws {Failure} where the package is no module, or says so wrongly */
async function readManifest(source: Source, directory: string): Promise<ModulePackage> {
  try {
    return await readPackage(directory)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { message } = error
    const own = isOwnFolder(source)
    if (message.includes('is no Mortise module')) {
      throw new Failure(
        'refused',
        'invalid-manifest',
        `The package ${message}`,
        own
          ? 'Add it: "mortise": { "id": …, "host": …, "routes": […] }.'
          : `Nothing was changed. Modules are packages that have one: ${indexedNames.join(', ')}, a folder or .tgz file of yours, or packages of a registry that were written for Mortise.`,
        { cause: error },
      )
    }
    const what = directory === source.target ? message : message.replaceAll(join(directory, sep), '')
    throw new Failure(
      'refused',
      'invalid-manifest',
      `The package ${source.target} is refused: ${what}`,
      own ? 'Correct it there, then try again.' : 'Nothing was changed. Tell the author of the module.',
      { cause: error },
    )
  }
}

/** A registry answers by name and version; the package itself must say the same. */
function checkIdentity({ name, version }: ModulePackage, { package: expected, range, target }: Source): void {
  if (expected !== undefined && name !== expected) {
    throw new Failure(
      'refused',
      'integrity',
      `The package ${target} is refused: it calls itself ${name}, not ${expected}.`,
      'Nothing was changed. Tell the author of the module.',
    )
  }
  if (range !== undefined && !semver.satisfies(version, range, { includePrerelease: true })) {
    throw new Failure(
      'notFound',
      'no-such-version',
      `There is no ${name}@${range} at ${target}: what is there is version ${version}.`,
      'Ask for a version that is there.',
    )
  }
}
