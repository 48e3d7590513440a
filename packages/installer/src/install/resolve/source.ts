import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { type LockedPackage, type LockFile, nearest } from '@mortise/application'
import npa from 'npm-package-arg'
import semver from 'semver'
import {
  bareAlias,
  type Failure,
  fileOfPackage,
  invalidSpec,
  noPackageInFolder,
  noSuchPath,
  notBuilt,
  notShipped,
  refusedSource,
  unknownModule,
} from '../../failures/index.ts'
import { hostPackageName } from '../../store/host-package.ts'
import { installedId } from '../../store/installed-packages.ts'
import { indexedNames, indexedPackage, shippedPackage, workspaceFolder } from '../../store/module-index.ts'

// The meaning of a name. An explicit spec is used as it is. A bare name is looked up only in the
// lock file, in the aliases of the configuration, and in the index that ships with the command. A
// public registry is never searched, because its package of that name may be another author's. What
// the index names travels with the command, so no registry is asked for it either.

export interface Source {
  readonly kind: 'registry' | 'folder' | 'tarball'
  /** `name@range` for a registry, otherwise an absolute path. */
  readonly target: string
  /** The npm name that the package must have; undefined for any. */
  readonly package: string | undefined
  /** The range that its version must be in; undefined for any. */
  readonly range: string | undefined
  /** Whether it is Mortise's: named by the index that ships with the command, or its host on the registry. */
  readonly indexed: boolean
  /** The SHA-512 of a tarball that travels with the command. */
  readonly integrity?: string
  /** Whether it is a folder of the operator, who can correct its files. */
  readonly isOwn: boolean
  /** The spec for the lock file, from the resolved version. */
  readonly record: (version: string) => string
}

export interface Lookup {
  readonly directory: string
  /** The base of relative paths on the command line. */
  readonly cwd: string
  readonly lock: LockFile
  readonly aliases: Readonly<Record<string, string>>
}

/**
 * Resolves `text`.
 * @returns a source, or the id of the installed module with this name
 * @throws {Failure} not found (3), or a rejected kind of spec (4)
 */
export function resolveSpec(text: string, lookup: Lookup): Source | { installed: string } {
  const spec = parse(text, lookup.cwd)
  if ('path' in spec) return localSource(spec, lookup.directory)
  const { name, range, consent } = spec
  if (consent) return registrySource(name, range)
  const bare = !name.startsWith('@')
  const id = installedId(lookup.lock, name)
  const locked = id === undefined ? undefined : lookup.lock.modules[id]
  if (id !== undefined && locked) {
    // By its full name, what came from a file comes from the registry from now on.
    const isSame = range === undefined ? bare || !locked.spec.startsWith('file:') : bare
    if (isSame && (range === undefined || semver.satisfies(locked.version, range))) return { installed: id }
  }
  if (bare && Object.hasOwn(lookup.aliases, name)) return aliasSource(name, range, lookup)
  const source = namedSource(spec)
  if (source) return source
  if (locked) return registrySource(locked.package, range)
  throw unknownName(name, lookup)
}

/** The source of an installed package, for fetching exactly the same again. */
export function lockedSource(locked: LockedPackage, directory: string): Source {
  const spec = parse(locked.spec, directory)
  const isIndexed = indexedPackage(locked.package) === locked.package
  const source =
    'path' in spec
      ? localSource(spec, directory)
      : (isIndexed ? ownSource : registrySource)(locked.package, locked.version)
  return { ...source, record: () => locked.spec }
}

/**
 * The source of a host.
 * @param text a version, a range or a tag of the registry; a folder or a `.tgz` file
 */
export function hostSource(text: string, directory: string, lock: LockFile): Source {
  // A host is not a module, so aliases and the index do not apply.
  const lookup = { directory, cwd: process.cwd(), lock: { ...lock, modules: {} }, aliases: {} }
  const source = resolveSpec(`${hostPackageName}@${text}`, lookup) as Source
  return { ...source, indexed: source.kind === 'registry' }
}

interface Local {
  readonly kind: 'folder' | 'tarball'
  readonly path: string
}

interface Named {
  readonly name: string
  readonly range: string | undefined
  /** Whether `npm:` allows an unscoped name from the registry. */
  readonly consent: boolean
}

function parse(text: string, cwd: string): Local | Named {
  const consent = text.startsWith('npm:')
  const words = consent ? text.slice(4) : text
  let spec: npa.Result
  try {
    spec = npa(words, cwd)
  } catch (error) {
    throw invalidSpec({ text, reason: (error as Error).message, cause: error })
  }
  if (!consent && (spec.type === 'file' || spec.type === 'directory')) {
    const path = resolve(cwd, spec.fetchSpec as string)
    return { kind: localKind(path, text), path }
  }
  if (!['version', 'range', 'tag'].includes(spec.type)) {
    throw refusedSource({ text, hint: existsSync(resolve(cwd, text)) ? 'path' : 'package' })
  }
  if (!spec.name) throw invalidSpec({ text, reason: 'it names no package' })
  return { name: spec.name, range: words.slice(spec.name.length + 1) || undefined, consent }
}

function localKind(path: string, text: string): Local['kind'] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw noSuchPath({ text, path })
  if (found.isFile() && basename(path) === 'package.json') {
    throw fileOfPackage({ text, folder: dirname(path) })
  }
  if (!found.isDirectory()) return 'tarball'
  if (existsSync(join(path, 'package.json'))) return 'folder'
  throw noPackageInFolder({ text, path })
}

function localSource({ kind, path }: Local, directory: string): Source {
  const spec = `file:${relative(directory, path).split(sep).join('/')}`
  const local = { kind, target: path, indexed: false, isOwn: kind === 'folder' }
  return { ...local, package: undefined, range: undefined, record: () => spec }
}

function registrySource(name: string, range: string | undefined): Source {
  const prefix = name.startsWith('@') ? '' : 'npm:'
  return {
    kind: 'registry',
    target: range === undefined ? name : `${name}@${range}`,
    package: name,
    range: range !== undefined && semver.validRange(range) !== null ? range : undefined,
    indexed: false,
    isOwn: false,
    record: (version) => `${prefix}${name}@${range ?? `^${version}`}`,
  }
}

/** The source that a name alone stands for; undefined for a bare name outside of the index. */
function namedSource({ name, range, consent }: Named): Source | undefined {
  const isBare = !name.startsWith('@')
  const indexed = consent ? undefined : indexedPackage(name)
  if (indexed !== undefined) return isBare ? indexSource(indexed, range) : ownSource(indexed, range)
  return isBare && !consent ? undefined : registrySource(name, range)
}

/** A package of the index by its bare name. @throws {Failure} if the range does not have its version */
function indexSource(packageName: string, range: string | undefined): Source {
  const source = ownSource(packageName, range)
  if (source.kind === 'folder') return source
  const shipped = shippedPackage(packageName)
  if (shipped && semver.satisfies(shipped.version, range ?? '*', { includePrerelease: true })) {
    return { ...source, kind: 'tarball', target: shipped.file, integrity: shipped.integrity }
  }
  const { target } = source
  throw shipped
    ? notShipped({ hint: 'other', target, name: packageName, version: shipped.version })
    : notShipped({ hint: 'none', target, name: packageName, version: 'missing' })
}

/** A package of the index by its full name: in a checkout its folder, otherwise its registry. */
function ownSource(packageName: string, range: string | undefined): Source {
  const source = { ...registrySource(packageName, range), indexed: true }
  const folder = workspaceFolder(packageName)
  if (folder === undefined) return source
  if (!existsSync(join(folder, 'dist'))) throw notBuilt({ name: packageName, folder })
  return { ...source, kind: 'folder', target: folder }
}

function aliasSource(name: string, range: string | undefined, { aliases, directory }: Lookup): Source {
  const target = aliases[name] as string
  const spec = parse(target, directory)
  if ('path' in spec) return { ...localSource(spec, directory), range }
  const source = namedSource({ ...spec, range: range ?? spec.range })
  if (source) return source
  throw bareAlias({ name, target })
}

function unknownName(name: string, { lock, aliases }: Lookup): Failure {
  const known = [...indexedNames, ...Object.keys(aliases), ...Object.keys(lock.modules)]
  const near = nearest(name, known)
  return near.length > 0
    ? unknownModule({ hint: 'misspelt', name, near: near.join(' or ') })
    : unknownModule({ hint: 'known', name, known: [...new Set(known)].join(', ') })
}
