import { join } from 'node:path'
import { type LockedModule, ManifestError } from '@mortise/application'
import { parseJson, readText } from '@mortise/storage'

export interface PackageJson {
  readonly name: string
  readonly version: string
  readonly main?: string
  readonly exports?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>>
  readonly bundleDependencies?: readonly string[] | boolean
  readonly bundledDependencies?: readonly string[] | boolean
}

/** @throws {ManifestError} if the file is not JSON */
export async function readPackageJson(directory: string): Promise<PackageJson> {
  const file = join(directory, 'package.json')
  return parseJson(await readText(file), (reason) => new ManifestError(`${file} ${reason}`)) as PackageJson
}

/** npm's choice of dependencies, as in `packages` of a package-lock.json. */
export type LockedDependencies = NonNullable<LockedModule['dependencies']>
