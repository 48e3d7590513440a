import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { LockedDependencies } from '../../store/package-json.ts'

export interface Dependency {
  /** The name for `import`. */
  readonly name: string
  /** The name in its own package.json, if that differs. */
  readonly alias: string | null
  readonly version: string
  readonly license: string | null
  /** The unpacked size of its own files, in all copies, without its dependencies. */
  readonly bytes: number
  /** The scripts that npm would run at an installation. The command does not run them. */
  readonly scripts: readonly string[]
  /** Its files with machine code (`*.node`), which no limit of Node restrains. */
  readonly addons: readonly string[]
  /** The registry's deprecation message, if there is one. */
  readonly deprecated: string | null
  /** SHA-512 of its tarball (SRI); null if another package bundles it. */
  readonly integrity: string | null
}

/** What a package.json states about the whole package. */
export type About = Pick<Dependency, 'license' | 'scripts' | 'addons'>

/** @param chosen npm's choice of dependencies, from the lock file */
export async function listDependencies(
  directory: string,
  chosen: LockedDependencies = {},
): Promise<Dependency[]> {
  const files = Map.groupBy(await filesIn(directory, 'node_modules'), locationOf)
  const copies = await Promise.all(
    [...files].flatMap(([place, paths]) =>
      place === undefined ? [] : [readDependency(directory, place, paths, chosen)],
    ),
  )
  const byVersion = new Map<string, Dependency>()
  for (const copy of copies) {
    const key = `${copy.name} ${copy.alias} ${copy.version}`
    const bytes = copy.bytes + (byVersion.get(key)?.bytes ?? 0)
    byVersion.set(key, { ...copy, bytes })
  }
  return [...byVersion.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, found]) => found)
}

/** The paths of all files below a folder of `directory`. */
async function filesIn(directory: string, folder = ''): Promise<string[]> {
  const options = { recursive: true, withFileTypes: true } as const
  const entries = await readdir(join(directory, folder), options).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** The place of the package of a file: `node_modules/a/node_modules/@b/c`. */
function locationOf(path: string): string | undefined {
  return /^(?:node_modules\/(?:@[^/]+\/)?[^@./][^/]*(?=\/)\/?)+/.exec(path)?.[0].replace(/\/$/, '')
}

async function readDependency(
  directory: string,
  place: string,
  paths: readonly string[],
  chosen: LockedDependencies,
): Promise<Dependency> {
  const inside = paths.map((path) => path.slice(place.length + 1))
  const sizes = await Promise.all(paths.map(async (path) => (await stat(join(directory, path))).size))
  const json = await readDescription(join(directory, place))
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const { integrity = null, ...more } = chosen[place] ?? {}
  const { deprecated } = more as { deprecated?: unknown }
  return {
    name,
    alias: typeof json.name === 'string' && json.name !== name ? json.name : null,
    version: typeof json.version === 'string' ? json.version : 'without a version',
    ...about(json, inside),
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    deprecated: typeof deprecated === 'string' && deprecated !== '' ? deprecated : null,
    integrity,
  }
}

/** The package.json of a bundled package may be broken. Only its files are known then. */
async function readDescription(folder: string): Promise<Record<string, unknown>> {
  try {
    const json = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}

const installScripts = ['preinstall', 'install', 'postinstall']

/** Describes a package without its dependencies. */
export async function aboutPackage(json: object, directory: string): Promise<About> {
  const own = (await filesIn(directory)).filter((path) => locationOf(path) === undefined)
  return about(json, own)
}

function about(json: object, paths: readonly string[]): About {
  const { scripts } = json as Record<string, unknown>
  const own = typeof scripts === 'object' && scripts !== null ? scripts : {}
  const named = installScripts.filter((name) => Object.hasOwn(own, name))
  // npm compiles a binding.gyp if no other script is named.
  const isNamed = named.includes('install') || named.includes('preinstall')
  const compiles = paths.includes('binding.gyp') && !isNamed
  return {
    license: licenseOf(json),
    scripts: compiles ? [...named, 'node-gyp rebuild'] : named,
    addons: paths.filter((path) => path.endsWith('.node')).sort(),
  }
}

/** The license that a package.json names, in any of the forms that npm has had. */
export function licenseOf(json: object): string | null {
  const { license, licenses } = json as Record<string, unknown>
  const words = [license, ...(Array.isArray(licenses) ? licenses : [])].flatMap((one) => {
    const word = typeof one === 'object' && one !== null ? (one as { type?: unknown }).type : one
    return typeof word === 'string' && word !== '' ? [word] : []
  })
  return words.length > 0 ? words.join(' OR ') : null
}
