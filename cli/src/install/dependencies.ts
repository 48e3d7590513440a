import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Arborist from '@npmcli/arborist'
import fetch from 'npm-registry-fetch'
import { Failure } from '../failure.ts'
import type { LockedModule } from '../host.ts'
import type { NpmOptions } from './npm-options.ts'

// npm's own library builds the tree in a folder of its own, from nothing but names, ranges and what was chosen
// before: it would take a lock file, overrides or an extension script from the folder of the package.

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

export async function readPackageJson(directory: string): Promise<PackageJson> {
  return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'))
}

/** What npm chose, as `packages` of a package-lock.json names it: without the root, and without addresses. */
export type PinnedDependencies = NonNullable<LockedModule['dependencies']>

/**
 * Puts the dependencies of the staged package in `directory` into its node_modules, those it bundles aside.
 * No script of theirs runs; peers are not installed.
 *
 * @param scratch an empty folder on the same file system
 * @param pinned what was chosen before, to choose again; the newest in range where it is left out
 * @returns what was chosen; undefined where there is nothing to install
 * @throws {Failure} where one cannot be fetched, or comes from git or from a URL
 */
export async function installDependencies(
  directory: string,
  scratch: string,
  options: NpmOptions,
  pinned?: PinnedDependencies,
): Promise<PinnedDependencies | undefined> {
  const json = await readPackageJson(directory)
  const dependencies = { ...json.dependencies }
  const optionalDependencies = { ...json.optionalDependencies }
  for (const name of bundled(json)) {
    delete dependencies[name]
    delete optionalDependencies[name]
  }
  if (Object.keys({ ...dependencies, ...optionalDependencies }).length === 0) return undefined

  const root = { name: 'module', version: '0.0.0', private: true, dependencies, optionalDependencies }
  const lockFile = join(scratch, 'package-lock.json')
  await writeFile(join(scratch, 'package.json'), JSON.stringify(root))
  if (pinned) {
    const { private: _, ...described } = root
    await writeFile(
      lockFile,
      JSON.stringify({ lockfileVersion: 3, packages: { '': described, ...addressed(pinned, options) } }),
    )
  }
  const arborist = new Arborist({
    ...options,
    path: scratch,
    omit: ['dev', 'peer'],
    legacyPeerDeps: true,
    ignoreExtension: true,
    allowFile: 'none',
    allowDirectory: 'none',
    audit: false,
    fund: false,
    binLinks: false,
    packageLock: true,
    omitLockfileRegistryResolved: true,
  } as never)
  try {
    await arborist.reify({ omit: ['dev', 'peer'], save: true } as never)
  } catch (error) {
    throw dependencyFailure(error as Error & { code?: string }, `${json.name}@${json.version}`)
  }
  await rm(join(scratch, 'node_modules', '.package-lock.json'), { force: true })
  await merge(join(scratch, 'node_modules'), join(directory, 'node_modules'))
  const { packages } = JSON.parse(await readFile(lockFile, 'utf8'))
  delete packages['']
  return packages
}

/** Offline npm's cache is asked by integrity, which npm does only where it knows an address. */
function addressed(pinned: PinnedDependencies, options: NpmOptions): PinnedDependencies {
  if (options.offline !== true) return pinned
  const entries = Object.entries(pinned).map(([path, entry]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const resolved = new URL(`${name}/-/${entry.version}.tgz`, fetch.pickRegistry(name, options)).href
    return [path, entry.integrity === undefined ? entry : { ...entry, resolved }] as const
  })
  return Object.fromEntries(entries)
}

function bundled(json: PackageJson): readonly string[] {
  const names = json.bundleDependencies ?? json.bundledDependencies
  if (names === true) return Object.keys(json.dependencies ?? {})
  return Array.isArray(names) ? names : []
}

/** Moves every package to `target` that is not there yet. */
async function merge(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  const present = new Set(await readdir(target))
  for (const name of await readdir(source)) {
    if (!present.has(name)) await rename(join(source, name), join(target, name))
    else if (name.startsWith('@')) await merge(join(source, name), join(target, name))
  }
}

function dependencyFailure(error: Error & { code?: string }, what: string): Failure {
  const code = error.code ?? ''
  if (code.startsWith('EALLOW') || code === 'EUNSUPPORTEDPROTOCOL') {
    return new Failure(
      'refused',
      'refused-dependency',
      `The package ${what} is refused: it depends on something that is not on a registry: ${error.message}`,
      'Nothing was changed. Dependencies come from a registry or are bundled, not from git, a URL or a file.',
      { cause: error },
    )
  }
  if (code === 'EINTEGRITY') {
    return new Failure(
      'refused',
      'integrity',
      `The package ${what} is refused: one of its dependencies is not what its registry says: ${error.message}`,
      'Nothing was changed. Try again; if it stays so, somebody has altered the package.',
      { cause: error },
    )
  }
  if (code === 'ENOTCACHED') {
    return new Failure(
      'notFound',
      'offline',
      `The dependencies of ${what} cannot be had with --offline: npm's cache does not have them.`,
      'Nothing was changed. Install a bundle, name a directory of tarballs in .npmrc (registry=file:./packages), or leave --offline out.',
      { cause: error },
    )
  }
  return new Failure(
    'notFound',
    'unreachable',
    `The dependencies of ${what} cannot be fetched: ${error.message}`,
    'Nothing was changed. Check the network and the registry in .npmrc, then try again.',
    { cause: error },
  )
}
