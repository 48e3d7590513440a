import { type LockedPackage, type LockFile, lockedPackages, readGenerations } from '@mortise/application'
import { lastLockFile } from '../changes/lost-lock-file.ts'
import { otherBytes } from '../failures/index.ts'
import type { LockedDependencies } from './package-json.ts'

// One version has one content. If the lock file or a recorded generation has an `x@1.0.0`, no other
// `x@1.0.0` ever replaces it, from any source. The one exception is a folder in which an author
// works.

export interface Bytes {
  readonly package: string
  readonly version: string
  readonly integrity: string
  /** Undefined for a dependency. */
  readonly source?:
    | { readonly kind: 'registry' | 'folder' | 'tarball'; readonly indexed: boolean }
    | undefined
  readonly dependencies?: LockedDependencies | undefined
}

/**
 * @throws {Failure} `integrity` if one of `fresh`, or a dependency, has other bytes than the same
 * version had before
 */
export async function checkSameBytes(directory: string, fresh: readonly Bytes[]): Promise<void> {
  if (fresh.length === 0) return
  const recorded = await recordedBytes(directory)
  for (const one of fresh.flatMap(withDependencies)) {
    const isOther = (past: Bytes) =>
      one.package === past.package && one.version === past.version && one.integrity !== past.integrity
    const other = recorded.find((past) => isOther(past) && !isWorkedOn(one.source, past.source))
    if (other === undefined) continue
    const target = `${one.package}@${one.version}`
    throw otherBytes({ target, where: other.where, found: one.integrity, expected: other.integrity })
  }
}

/** What was installed here before stays valid. @throws {Failure} `integrity` */
export async function checkLockedBytes(
  directory: string,
  lock: LockFile,
  names: readonly string[] = [...lockedPackages(lock).keys()],
): Promise<void> {
  if (names.length === 0) return
  const past = (await pastLocks(directory)).flatMap(({ lock }) => bytesIn(lock))
  const fresh = [...lockedPackages(lock)].flatMap(([name, locked]) => {
    const isKnown = past.some((one) => one.package === locked.package && one.integrity === locked.integrity)
    return isKnown || !names.includes(name) ? [] : [bytesOf(locked)]
  })
  await checkSameBytes(directory, fresh)
}

/** A folder may replace a folder. A folder of this checkout, which the index names, may too. */
function isWorkedOn(source: Bytes['source'], past: Bytes['source']): boolean {
  if (source?.kind !== 'folder' || past === undefined) return false
  return past.kind === (source.indexed ? 'registry' : 'folder')
}

async function recordedBytes(directory: string): Promise<(Bytes & { readonly where: string })[]> {
  const last = { where: 'modules.lock.json', lock: await lastLockFile(directory) }
  return [...(await pastLocks(directory)), last]
    .toReversed()
    .flatMap(({ where, lock }) =>
      bytesIn(lock).flatMap((bytes) => withDependencies(bytes).map((one) => ({ ...one, where }))),
    )
}

async function pastLocks(directory: string): Promise<{ where: string; lock: LockFile }[]> {
  const { known } = await readGenerations(directory)
  return known.map(({ generation, lock }) => ({ where: `generation ${generation}`, lock }))
}

const bytesIn = (lock: LockFile): Bytes[] => [...lockedPackages(lock).values()].map(bytesOf)

function bytesOf(locked: LockedPackage): Bytes {
  const isFile = /^file:/.test(locked.spec)
  const kind = !isFile ? 'registry' : /\.(?:tgz|tar|gz)$/.test(locked.spec) ? 'tarball' : 'folder'
  return { ...locked, source: { kind, indexed: false } }
}

function withDependencies(bytes: Bytes): Bytes[] {
  const inside = Object.entries(bytes.dependencies ?? {}).flatMap(([place, dependency]): Bytes[] => {
    const { version, integrity, name } = dependency as typeof dependency & { name?: string }
    const last = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return integrity === undefined ? [] : [{ package: name ?? last, version, integrity }]
  })
  return [bytes, ...inside]
}
