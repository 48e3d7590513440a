import { isDeepStrictEqual } from 'node:util'
import {
  emptyLockFile,
  type Generation,
  type LockFile,
  lockedPackages,
  readGenerations,
  readLockFile,
} from '@mortise/application'
import { lockChanged } from '../failures/index.ts'
import { changesBetween } from './changes-between.ts'

// The last recorded generation is the current one. After `git pull`, for example, modules.lock.json may
// name other modules: an external change. `app module-install` without a name, or a start, puts
// that lock file into effect unchanged. `app module-rollback` replaces it. All other changes are
// rejected.

/**
 * The current generation. Undefined if no command ever changed anything here, as in a fresh clone.
 */
export async function currentGeneration(directory: string): Promise<Generation | undefined> {
  const { known, unreadable } = await readGenerations(directory)
  const [last, broken] = [known.at(-1), unreadable.at(-1)]
  if (broken === undefined || broken.generation < (last?.generation ?? 0)) return last
  // The lock file stands in for a record that cannot be read, except its number.
  return { ...broken, at: '', command: 'unreadable', lock: await readLockFile(directory) }
}

/** Whether `lock` has other packages than the current generation. */
export const isExternalChange = (lock: LockFile, present: Generation | undefined): boolean =>
  !isSame(lock, present?.lock ?? emptyLockFile)

/** Whether a command applies the lock file, or no generation is recorded. */
export async function isCurrent(directory: string): Promise<boolean> {
  const present = await currentGeneration(directory)
  return present === undefined || !isExternalChange(await readLockFile(directory), present)
}

export const isSame = (one: LockFile, other: LockFile): boolean =>
  isDeepStrictEqual(lockedPackages(one), lockedPackages(other))

/**
 * The number for a new lock file: above all numbers that were current here, and above the lock
 * file's own.
 */
export const nextGeneration = (lock: LockFile, present: Generation | undefined): number =>
  Math.max(lock.generation, present?.generation ?? 0) + 1

/** The number for the record of an unchanged lock file. */
export const generationOf = (lock: LockFile, present: Generation | undefined): number =>
  present === undefined ? lock.generation : Math.max(lock.generation, present.generation + 1)

/** The changes from an external lock file, for people. */
export function externalChanges(lock: LockFile, present: Generation | undefined): string {
  const changes = changesBetween(present?.lock ?? emptyLockFile, lock).map(({ text }) => text)
  return changes.length > 0 ? changes.join(', ') : 'other details of the same packages'
}

/** @throws {Failure} if `lock` is an external change */
export function assertCurrent(lock: LockFile, present: Generation | undefined): void {
  if (present === undefined || !isExternalChange(lock, present)) return
  throw lockChanged({ generation: present.generation, changes: externalChanges(lock, present) })
}
