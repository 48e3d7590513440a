import { type LockedPackage, type LockFile, lockedPackages, readGenerations } from '@mortise/host'
import { lastLockFile } from '../changes/lost-lock-file.ts'
import { type Failure, otherBytes } from '../failures/index.ts'
import type { PinnedDependencies } from './package-json.ts'

// One version has one content. If the lock file or a recorded generation has an `x@1.0.0`, no other
// `x@1.0.0` ever replaces it, from any source. The one exception is a folder in which an author
// works.

export interface Bytes {
  readonly package: string
  readonly version: string
  readonly integrity: string
  readonly source: { readonly kind: 'registry' | 'folder' | 'tarball'; readonly indexed: boolean }
  readonly dependencies?: PinnedDependencies | undefined
}

/** The hash of an installed package. */
interface RecordedBytes extends Omit<Bytes, 'source' | 'dependencies'> {
  /** The source in the lock file; undefined for a dependency. */
  readonly spec: string | undefined
  /** For people. */
  readonly where: string
}

/**
 * @throws {Failure} `integrity` if one of `fresh`, or a dependency, has other bytes than the same
 * version had before
 */
export async function checkSameBytes(directory: string, fresh: readonly Bytes[]): Promise<void> {
  if (fresh.length === 0) return
  const recorded = await recordedBytes(directory)
  for (const bytes of fresh) {
    const other = recorded.find((previous) => differ(bytes, previous) && !isWorkedOn(bytes, previous))
    if (other) throw bytesDiffer(bytes, other)
    for (const dependency of bytesOf(bytes.dependencies)) {
      const other = recorded.find((previous) => differ(dependency, previous))
      if (other) throw bytesDiffer(dependency, other)
    }
  }
}

/** What was installed here before stays valid. @throws {Failure} `integrity` */
export async function checkLockedBytes(
  directory: string,
  lock: LockFile,
  names: readonly string[] = [...lockedPackages(lock).keys()],
): Promise<void> {
  if (names.length === 0) return
  const past = (await pastLocks(directory)).flatMap(({ lock }) => [...lockedPackages(lock).values()])
  const fresh = names.flatMap((name) => {
    const locked = lockedPackages(lock).get(name)
    const isKnown = past.some((one) => one.package === locked?.package && one.integrity === locked.integrity)
    return locked === undefined || isKnown ? [] : [{ ...locked, source: sourceOf(locked) }]
  })
  await checkSameBytes(directory, fresh)
}

const differ = (one: Omit<Bytes, 'source'>, other: RecordedBytes) =>
  one.package === other.package && one.version === other.version && one.integrity !== other.integrity

/** A folder may replace a folder. A folder of this checkout, which the index names, may too. */
function isWorkedOn({ source }: Bytes, { spec }: RecordedBytes): boolean {
  if (spec === undefined || source.kind !== 'folder') return false
  return source.indexed ? !spec.startsWith('file:') : isFolder(spec)
}

const isFolder = (spec: string) => spec.startsWith('file:') && !/\.(?:tgz|tar|gz)$/.test(spec)

const sourceOf = ({ spec }: LockedPackage) =>
  ({
    kind: isFolder(spec) ? 'folder' : spec.startsWith('file:') ? 'tarball' : 'registry',
    indexed: false,
  }) as const

async function recordedBytes(directory: string): Promise<RecordedBytes[]> {
  const locks = [
    ...(await pastLocks(directory)),
    { where: 'modules.lock.json', lock: await lastLockFile(directory) },
  ]
  return locks
    .toReversed()
    .flatMap(({ where, lock }) =>
      [...lockedPackages(lock).values()].flatMap((locked) => [
        { ...locked, where },
        ...bytesOf(locked.dependencies).map((bytes) => ({ ...bytes, spec: undefined, where })),
      ]),
    )
}

async function pastLocks(directory: string): Promise<{ where: string; lock: LockFile }[]> {
  const { known } = await readGenerations(directory)
  return known.map(({ generation, lock }) => ({ where: `generation ${generation}`, lock }))
}

function bytesOf(dependencies: PinnedDependencies = {}): Omit<Bytes, 'source'>[] {
  return Object.entries(dependencies).flatMap(([place, { version, integrity, ...more }]) => {
    const { name } = more as { name?: string }
    const last = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return integrity === undefined ? [] : [{ package: name ?? last, version, integrity }]
  })
}

function bytesDiffer(fresh: Omit<Bytes, 'source'>, previous: RecordedBytes): Failure {
  const what = `${fresh.package}@${fresh.version}`
  return otherBytes({
    target: what,
    where: previous.where,
    found: fresh.integrity,
    expected: previous.integrity,
  })
}
