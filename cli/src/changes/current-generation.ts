import { isDeepStrictEqual } from 'node:util'
import {
  emptyLockFile,
  type Generation,
  type Lock,
  lockedPackages,
  readGenerations,
  readLockFile,
} from '@mortise/host'
import { lockChanged } from '../failures/index.ts'
import { changesBetween } from './changes-between.ts'

// What is in force is the last generation on record. modules.lock.json names something else after `git pull`, say: it
// came from outside then. `app module-install` without a name puts it in force and leaves the file as it is, and so
// does a start; `app module-rollback` replaces it; every other change is refused.

/** The generation that is in force; undefined where nothing was ever changed here, as in a fresh clone. */
export async function inForce(directory: string): Promise<Generation | undefined> {
  const { known, unreadable } = await readGenerations(directory)
  const [last, broken] = [known.at(-1), unreadable.at(-1)]
  if (broken === undefined || broken.generation < (last?.generation ?? 0)) return last
  // Of what cannot be read only the number is known: the lock is taken for it.
  return { ...broken, at: '', command: 'unreadable', lock: await readLockFile(directory) }
}

/** Whether `lock` names other packages than those in force. */
export const isExternalChange = (lock: Lock, present: Generation | undefined): boolean =>
  !isSame(lock, present?.lock ?? emptyLockFile)

/** Whether what modules.lock.json names was put in force by a command, or there is no record of any. */
export async function isCurrent(directory: string): Promise<boolean> {
  const present = await inForce(directory)
  return present === undefined || !isExternalChange(await readLockFile(directory), present)
}

export const isSame = (one: Lock, other: Lock): boolean =>
  isDeepStrictEqual(lockedPackages(one), lockedPackages(other))

/** The number for a lock that a command writes: above all that were in force here, and above the lock's own. */
export const nextGeneration = (lock: Lock, present: Generation | undefined): number =>
  Math.max(lock.generation, present?.generation ?? 0) + 1

/** The number for the record of a lock that stays as it is. */
export const generationOf = (lock: Lock, present: Generation | undefined): number =>
  present === undefined ? lock.generation : Math.max(lock.generation, present.generation + 1)

/** What a lock from outside changes, for people. */
export function externalChanges(lock: Lock, present: Generation | undefined): string {
  const changes = changesBetween(present?.lock ?? emptyLockFile, lock).map(({ text }) => text)
  return changes.length > 0 ? changes.join(', ') : 'other details of the same packages'
}

/** @throws {Failure} where modules.lock.json came from outside */
export async function assertCurrent(directory: string): Promise<void> {
  if (await isCurrent(directory)) return
  const [lock, present] = [await readLockFile(directory), await inForce(directory)]
  throw lockChanged({ generation: present?.generation ?? 0, changes: externalChanges(lock, present) })
}
