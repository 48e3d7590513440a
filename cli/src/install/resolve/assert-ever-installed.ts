import { type LockFile, readGenerations } from '@mortise/host'
import { readLedger } from '../../store/applied-migrations.ts'
import { installedId, unknownHere } from '../../store/installed-packages.ts'

/**
 * Checks the names of modules that are not installed. There is nothing to do for one that was
 * installed here once, or whose migrations are in the database.
 * @throws {Failure} not found: the name is a typo
 */
export async function assertEverInstalled(
  directory: string,
  lock: LockFile,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  const { known, unreadable } = await readGenerations(directory)
  const locks = [lock, ...known.map((past) => past.lock)]
  const strange = names.filter((name) => locks.every((past) => installedId(past, name) === undefined))
  if (strange.length === 0) return
  const ledger = await readLedger(directory)
  const [name] = strange.filter((one) => !ledger.some(({ module }) => module === one))
  // A generation whose record cannot be read may have had it.
  if (name === undefined || unreadable.length > 0) return
  throw unknownHere(lock, name)
}
