import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { hostVersion, type Lock, readLockFile, storedModule } from '@mortise/host'
import { calledFolder, ownFolder } from '../application/pinned-host.ts'
import { hostAltered, hostMissing } from '../failures/index.ts'
import { holds } from './staging.ts'

/** What a host is installed and pinned as: the command, which has the host of the same version as a dependency. */
export const hostPackageName = '@mortise/cli'

/** A host as its files say it is; nothing of it needs to have run. */
export interface HostPackage {
  readonly version: string
  /** The folder of the command, which holds `bin.js`. */
  readonly directory: string
}

/** The one that runs this. */
export const ownHost: HostPackage = { version: hostVersion, directory: ownFolder }

/** The one that runs the application where `lock` is in force: what it pins, else what was called as `app`. */
export function hostPackageOf({ host }: Lock, application: string): HostPackage {
  if (host) return { version: host.version, directory: storedModule(application, host) }
  const directory = calledFolder()
  return { version: versionInside(directory) ?? hostVersion, directory }
}

/** The version of the @mortise/host that the command in `directory` brings; undefined where it brings none. */
export const versionInside = (directory: string) => versionIn(directory, '@mortise/host')

/** The version of a package that a host lends to modules; undefined where it has none. */
export function providedVersion({ directory }: HostPackage, name: string): string | undefined {
  const host = packageFrom(directory, '@mortise/host')
  return host && versionIn(host, name)
}

/** Where a host's own migrations lie. */
export const migrationsOf = ({ directory }: HostPackage) =>
  join(packageFrom(directory, '@mortise/host') ?? directory, 'migrations')

function versionIn(folder: string, name: string): string | undefined {
  const found = packageFrom(folder, name)
  return found && JSON.parse(readFileSync(join(found, 'package.json'), 'utf8')).version
}

/** The folder of the package that `name` means in `folder`. */
function packageFrom(folder: string, name: string): string | undefined {
  try {
    const file = findPackageJSON(name, pathToFileURL(join(folder, 'package.json')))
    return file && dirname(file)
  } catch {
    return undefined // not installed
  }
}

/** The host that is pinned, or this one. @throws {Failure} where it is missing: nothing can be held against it */
export function requireHost(lock: Lock, directory: string): HostPackage {
  const host = hostPackageOf(lock, directory)
  if (existsSync(host.directory)) return host
  throw hostMissing({ version: host.version })
}

/** The host that runs this is, where it is the pinned one, what was installed, to the byte. @throws {Failure} */
export async function assertIntact(directory: string): Promise<void> {
  const { host } = await readLockFile(directory)
  if (host === undefined) return
  const place = storedModule(directory, host)
  if (!existsSync(place) || realpathSync(place) !== ownFolder || (await holds(place, host.tree))) return
  throw hostAltered({ version: host.version })
}
