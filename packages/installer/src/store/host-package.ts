import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type LockFile, readLockFile, storedModule } from '@mortise/application'
import { hostVersion } from '@mortise/host'
import { calledFolder, ownFolder } from '../application/command-folder.ts'
import { hostAltered, hostMissing } from '../failures/index.ts'
import { isStored } from './staging.ts'

/** The package to pin as the host: the command, which depends on the host of its version. */
export const hostPackageName = '@mortise/cli'

export interface HostPackage {
  readonly version: string
  /** The folder of the command, with `bin.js`. */
  readonly directory: string
}

/** The host that runs this code. */
export const ownHost = (): HostPackage => ({ version: hostVersion, directory: ownFolder() })

/** The host that runs the application with `lock`: the pinned one, or the one called as `app`. */
export function hostPackageOf({ host }: LockFile, application: string): HostPackage {
  if (host) return { version: host.version, directory: storedModule(application, host) }
  const directory = calledFolder()
  return { version: versionInside(directory) ?? hostVersion, directory }
}

/** The version of @mortise/host that the command in `directory` depends on, or undefined. */
export const versionInside = (directory: string) => versionIn(directory, '@mortise/host')

export function providedVersion({ directory }: HostPackage, name: string): string | undefined {
  const host = packageFrom(directory, '@mortise/host')
  return host && versionIn(host, name)
}

export const migrationsOf = ({ directory }: HostPackage) =>
  join(packageFrom(directory, '@mortise/host') ?? directory, 'migrations')

function versionIn(folder: string, name: string): string | undefined {
  const found = packageFrom(folder, name)
  return found && JSON.parse(readFileSync(join(found, 'package.json'), 'utf8')).version
}

/** The folder that the package `name` resolves to from `folder`. */
function packageFrom(folder: string, name: string): string | undefined {
  try {
    const file = findPackageJSON(name, pathToFileURL(join(folder, 'package.json')))
    return file && dirname(file)
  } catch {
    return undefined // not installed
  }
}

/**
 * The pinned host, or this one.
 * @throws {Failure} if it is missing: without it nothing can be checked
 */
export function requireHost(lock: LockFile, directory: string): HostPackage {
  const host = hostPackageOf(lock, directory)
  if (existsSync(host.directory)) return host
  throw hostMissing({ version: host.version })
}

/** Checks that the pinned host, if it runs this code, is byte for byte what was installed. */
export async function assertIntact(directory: string): Promise<void> {
  const { host } = await readLockFile(directory)
  if (host === undefined) return
  const place = storedModule(directory, host)
  if (!existsSync(place) || realpathSync(place) !== ownFolder() || (await isStored(directory, host))) return
  throw hostAltered({ version: host.version })
}
