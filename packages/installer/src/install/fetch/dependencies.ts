import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type Arborist from '@npmcli/arborist'
import {
  alteredDependency,
  dependenciesOffline,
  dependenciesUnreachable,
  Failure,
  refusedDependency,
} from '../../failures/index.ts'
import { type LockedDependencies, type PackageJson, readPackageJson } from '../../store/package-json.ts'
import { largestTree, treeTooLarge } from '../../store/staging.ts'
import { dependencyAges, youngDependency } from './dependency-ages.ts'
import { fetchVersion } from './fetch-package.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { loadArborist } from './npm-libraries.ts'
import { type AgeLimit, type Ages, noAges } from './release-age.ts'
import { unpack } from './unpack.ts'

// npm's own library chooses the dependency tree, in a separate folder, from names, ranges and the
// previous choice only. In the package's folder it would use a lock file, overrides or an extension
// script of the package. It does not install the tree: each package is fetched and unpacked like
// the module itself, with the same limits and checks.

interface Choice {
  readonly locked?: LockedDependencies | undefined
  readonly limit?: AgeLimit | undefined
}

interface Dependencies {
  readonly packages: LockedDependencies
  readonly ages: Ages
}

/**
 * Installs the dependencies of the staged package in `directory` into its node_modules, except
 * bundled ones. It runs no scripts and installs no peers.
 * @param scratch an empty folder on the same file system
 * @param locked the previous choice, to repeat it; without it, the newest versions in range that
 *   are old enough for `limit`
 * @returns the choice; undefined if there is nothing to install
 * @throws {Failure} if a dependency cannot be fetched, comes from git or a URL, or is unsafe
 */
export async function installDependencies(
  directory: string,
  scratch: string,
  options: NpmOptions,
  { locked, limit }: Choice = {},
): Promise<Dependencies | undefined> {
  const json = await readPackageJson(directory)
  const dependencies = { ...json.dependencies }
  const optionalDependencies = { ...json.optionalDependencies }
  for (const name of bundled(json)) {
    delete dependencies[name]
    delete optionalDependencies[name]
  }
  if (Object.keys({ ...dependencies, ...optionalDependencies }).length === 0) return undefined

  const root = { name: 'module', version: '0.0.0', private: true, dependencies, optionalDependencies }
  await writeFile(join(scratch, 'package.json'), JSON.stringify(root))
  if (locked) {
    const { private: _, ...described } = root
    const lock = { lockfileVersion: 3, packages: { '': described, ...locked } }
    await writeFile(join(scratch, 'package-lock.json'), JSON.stringify(lock))
  }
  const aged = locked ? undefined : limit
  const arborist = new (await loadArborist())({
    ...options,
    path: scratch,
    omit: ['dev', 'peer'],
    legacyPeerDeps: true,
    ignoreExtension: true,
    allowFile: 'none',
    allowDirectory: 'none',
    omitLockfileRegistryResolved: true,
    before: aged?.allowNew === false ? aged.before : null,
  } as never)
  const what = `${json.name}@${json.version}`
  try {
    const tree = await arborist.buildIdealTree().catch(async (error) => {
      throw (aged && (await youngDependency(error, options, aged, what))) ?? error
    })
    const ages = aged ? await dependencyAges(tree, options, aged, what) : noAges
    await mkdir(join(scratch, 'node_modules'))
    await unpackTree(tree, scratch, options, what)
    await merge(join(scratch, 'node_modules'), join(directory, 'node_modules'))
    return { packages: chosenIn(tree), ages }
  } catch (error) {
    throw dependencyFailure(error as Error & { code?: string }, what)
  }
}

function chosenIn({ meta }: Arborist.Node): LockedDependencies {
  const { '': _root, ...packages } = (meta as Arborist.Shrinkwrap).commit().packages ?? {}
  return JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(packages).sort())))
}

/** The number of parallel downloads, which are held in memory. */
const atATime = 5

/** Puts every package of `tree` into its place below `scratch`, parents first. */
async function unpackTree(
  tree: Arborist.Node,
  scratch: string,
  options: NpmOptions,
  of: string,
): Promise<void> {
  const nodes = [...tree.inventory.values()]
    .filter((node) => !node.isRoot && !(node as { inert?: boolean }).inert)
    .sort((one, other) => (one.location < other.location ? -1 : 1))
  let bytes = 0
  while (nodes.length > 0) {
    const fetched = nodes.splice(0, atATime).map(async ({ packageName, version, integrity, location }) => {
      const spec = `${packageName}@${version}`
      const what = `${spec} (a dependency of ${of})`
      const { data } = await fetchVersion(spec, options, integrity ?? undefined, what)
      return { data, what, place: join(scratch, location) }
    })
    // Waits for all before it reports a failure, so that nothing continues in the background.
    await Promise.allSettled(fetched)
    for (const { data, what, place } of await Promise.all(fetched)) {
      if (existsSync(place)) continue
      await mkdir(place, { recursive: true })
      bytes += await unpack(data, place, what)
      if (bytes > largestTree.bytes) throw treeTooLarge(of)
    }
  }
}

function bundled(json: PackageJson): readonly string[] {
  const names = json.bundleDependencies ?? json.bundledDependencies
  if (names === true) return Object.keys(json.dependencies ?? {})
  return Array.isArray(names) ? names : []
}

/** Moves every package to `target` that is not already there. */
async function merge(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  const present = new Set(await readdir(target))
  for (const name of await readdir(source)) {
    if (!present.has(name)) await rename(join(source, name), join(target, name))
    else if (name.startsWith('@')) await merge(join(source, name), join(target, name))
  }
}

function dependencyFailure(error: Error & { code?: string }, target: string): Failure {
  if (error instanceof Failure) return error
  const { message: reason, code = '' } = error
  const about = { target, reason, cause: error }
  if (code.startsWith('EALLOW') || code === 'EUNSUPPORTEDPROTOCOL') return refusedDependency(about)
  if (code === 'EINTEGRITY') return alteredDependency(about)
  return code === 'ENOTCACHED'
    ? dependenciesOffline({ target, cause: error })
    : dependenciesUnreachable(about)
}
