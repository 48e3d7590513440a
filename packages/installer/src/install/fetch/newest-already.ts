import { readLockFile } from '@mortise/application'
import gt from 'semver/functions/gt.js'
import { hostPackageName, hostPackageOf } from '../../store/host-package.ts'
import { isStored } from '../../store/staging.ts'
import { asking } from './fetch-package.ts'
import { loadPacote } from './npm-libraries.ts'
import { npmOptions } from './npm-options.ts'

/**
 * Asks the registry for its newest host, with one request.
 * @returns the present version if the newest is not newer; undefined if it is, or if the pinned host
 * is damaged
 */
export async function newestAlready(directory: string, offline: boolean): Promise<string | undefined> {
  const lock = await readLockFile(directory)
  if (lock.host && !(await isStored(directory, lock.host))) return undefined
  const { version: present } = hostPackageOf(lock, directory)
  const npm = await npmOptions(directory, process.env, offline)
  const latest = `${hostPackageName}@latest`
  const { version } = await asking(latest, async () => (await loadPacote()).manifest(latest, npm))
  return gt(version, present) ? undefined : present
}
