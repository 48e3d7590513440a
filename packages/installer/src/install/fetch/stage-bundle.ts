import { readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  decisionOf,
  differenceOf,
  type LockedModule,
  type LockedPackage,
  type LockFile,
  readLockFile,
  readNewPackage,
} from '@mortise/application'
import { otherFilesInBundle, unsafeBundle } from '../../failures/index.ts'
import { readPackageJson } from '../../store/package-json.ts'
import { makeStaging, seal } from '../../store/staging.ts'
import type { Source } from '../resolve/source.ts'
import type { Candidate } from './candidate.ts'
import { checkContents } from './contents.ts'
import { checkHostInside, type HostCandidate, readHost } from './stage-host.ts'
import type { Staged } from './stage-package.ts'
import { unpack } from './unpack.ts'

/** The size limit of a bundle. */
const largestBundle = 512 * 1024 * 1024
const bundleLimits = { entries: 250_000, unpackedBytes: 2 * 1024 * 1024 * 1024 }

export interface StagedSource {
  readonly modules: readonly Candidate[]
  /** The host of the bundle, if one was pinned. */
  readonly host?: HostCandidate | undefined
}

/** Unpacks a bundle into staging. Accepts only the bytes that its lock file names. */
export async function stageBundle(source: Source, directory: string): Promise<StagedSource> {
  const { target } = source
  if ((await stat(target)).size > largestBundle) {
    throw unsafeBundle({ file: target, reason: `it is larger than ${largestBundle / 1024 / 1024} MiB` })
  }
  const staging = await makeStaging(directory)
  await unpack(await readFile(target), staging, target, bundleLimits)
  const lock = await readBundledLock(staging, target)
  await checkNames(staging, lock, target)
  const modules: Candidate[] = []
  for (const [id, locked] of Object.entries(lock.modules)) {
    const place = await makeStaging(directory)
    await rename(join(staging, 'modules', id), place)
    modules.push(await candidateOf(id, locked, place, source))
  }
  if (lock.host === undefined) return { modules }
  const place = await makeStaging(directory)
  await rename(join(staging, 'host'), place)
  return { modules, host: await hostPackageOf(lock.host, place, source) }
}

async function readBundledLock(staging: string, what: string): Promise<LockFile> {
  try {
    return await readLockFile(staging)
  } catch (error) {
    throw unsafeBundle({ file: what, reason: (error as Error).message.replaceAll(`${staging}/`, '') })
  }
}

/**
 * A bundle contains the lock file, the host, and a folder per module. A module id is not a path:
 * the schema of the lock file says so.
 */
async function checkNames(staging: string, { host, modules }: LockFile, what: string): Promise<void> {
  const ids = Object.keys(modules)
  const isRight = (present: readonly string[], expected: readonly string[]) =>
    present.toSorted().join('/') === expected.toSorted().join('/')
  const inside = await readdir(join(staging, 'modules')).catch(() => [])
  const around = ['modules.lock.json', ...(ids.length > 0 ? ['modules'] : []), ...(host ? ['host'] : [])]
  if (isRight(await readdir(staging), around) && isRight(inside, ids)) return
  throw unsafeBundle({ file: what, reason: 'its packages differ from its lock file' })
}

async function candidateOf(
  id: string,
  locked: LockedModule,
  place: string,
  source: Source,
): Promise<Candidate> {
  const what = `${id} in ${source.target}`
  await checkContents(place, what)
  const found = await readNewPackage(place)
  if (found.manifest.id !== id) throw otherFilesInBundle({ file: what })
  return { ...(await stagedAs(locked, place, what, source)), decision: decisionOf(locked), package: found }
}

async function hostPackageOf(locked: LockedPackage, place: string, source: Source): Promise<HostCandidate> {
  const what = `host in ${source.target}`
  const found = await readHost(place, what)
  checkHostInside(found, what)
  return { ...(await stagedAs(locked, place, what, source)), package: found }
}

/** @throws {Failure} if the content of `place` is not byte for byte what `locked` names */
async function stagedAs(
  locked: LockedPackage,
  place: string,
  what: string,
  source: Source,
): Promise<Omit<Staged<unknown>, 'package'>> {
  const { integrity, spec, signed, dependencies } = locked
  const json = await readPackageJson(place)
  const sealed = await seal(place, what)
  const isOther = differenceOf(locked, json) !== undefined || sealed.tree !== locked.tree
  if (isOther) throw otherFilesInBundle({ file: what })
  const inBundle = { ...source, package: json.name, record: () => spec }
  return { source: inBundle, from: source.target, integrity, signed, json, dependencies, ...sealed }
}
