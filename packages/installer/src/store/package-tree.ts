import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { type LockedPackage, type LockFile, storedModule } from '@mortise/application'
import { readOptionalText } from '@mortise/storage'
import { hostPackageOf } from './host-package.ts'
import { type LockedDependencies, type PackageJson, readPackageJson } from './package-json.ts'

/** A package on the disk, as Node finds it from the packages that depend on it. */
export interface TreePackage {
  readonly name: string
  readonly version: string
  readonly directory: string
  readonly json: PackageJson
  /** SHA-512 of its tarball (SRI); undefined if another package bundles it, or nobody recorded it. */
  readonly integrity: string | undefined
  /** The folders of what it depends on. */
  readonly dependsOn: readonly string[]
}

/** An installed module or the host, with its dependencies. */
export interface InstalledTree {
  /** The id of the module, or `host`. */
  readonly id: string
  /** Its entry in the lock file; undefined for a host that is not pinned. */
  readonly locked: LockedPackage | undefined
  readonly root: TreePackage
  /** By folder, the root included. */
  readonly packages: ReadonlyMap<string, TreePackage>
}

/** What is installed, from the files in the store: the host first. Skips what the store lacks. */
export async function installedTrees(directory: string, lock: LockFile): Promise<InstalledTree[]> {
  const host = hostPackageOf(lock, directory)
  const trees = [await treeOf('host', host.directory, lock.host, undefined)]
  const provider = trees[0] && packageFolder('@mortise/host', trees[0].root.directory)
  for (const [id, locked] of Object.entries(lock.modules)) {
    trees.push(await treeOf(id, storedModule(directory, locked), locked, provider))
  }
  return trees.flatMap((tree) => tree ?? [])
}

/** @param provider the folder whose packages are provided as peers */
async function treeOf(
  id: string,
  folder: string,
  locked: LockedPackage | undefined,
  provider: string | undefined,
): Promise<InstalledTree | undefined> {
  if (!existsSync(join(folder, 'package.json'))) return undefined
  const top = realpathSync(folder)
  const packages = new Map<string, TreePackage>()
  const records = new Map<string, LockedDependencies>()
  const waiting = [top]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (packages.has(next)) continue
    const json = await readPackageJson(next)
    const dependsOn = Object.keys({ ...json.dependencies, ...json.optionalDependencies }).flatMap(
      (name) => packageFolder(name, next) ?? [],
    )
    const peers = next === top && provider !== undefined ? Object.keys(json.peerDependencies ?? {}) : []
    const provided = peers.flatMap((name) => packageFolder(name, provider as string) ?? [])
    const integrity =
      next === top ? locked?.integrity : await integrityOf(next, top, locked?.dependencies, records)
    const { name, version } = json
    packages.set(next, {
      name,
      version,
      directory: next,
      json,
      integrity,
      dependsOn: [...dependsOn, ...provided],
    })
    waiting.push(...dependsOn)
  }
  return { id, locked, root: packages.get(top) as TreePackage, packages }
}

/** The folder in which Node finds a package from `folder`. */
function packageFolder(name: string, folder: string): string | undefined {
  for (let from = folder; ; from = dirname(from)) {
    const found = join(from, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return realpathSync(found)
    if (dirname(from) === from) return undefined
  }
}

/** From the lock file; for a host that npm installed, from npm's record in its node_modules. */
async function integrityOf(
  folder: string,
  top: string,
  chosen: LockedDependencies | undefined,
  records: Map<string, LockedDependencies>,
): Promise<string | undefined> {
  const place = relative(top, folder).split(sep).join('/')
  if (!place.startsWith('..')) return chosen?.[place]?.integrity
  const at = folder.indexOf(`${sep}node_modules${sep}`)
  if (at < 0) return undefined
  const file = join(folder.slice(0, at), 'node_modules', '.package-lock.json')
  const record = records.get(file) ?? JSON.parse((await readOptionalText(file)) ?? '{}').packages ?? {}
  records.set(file, record)
  return record[
    folder
      .slice(at + 1)
      .split(sep)
      .join('/')
  ]?.integrity
}
