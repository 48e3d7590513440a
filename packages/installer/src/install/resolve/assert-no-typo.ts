import { type LockFile, readGenerations } from '@mortise/application'
import { readLedger } from '../../store/applied-migrations.ts'
import { installedId, nearInstalled, unknownHere } from '../../store/installed-packages.ts'
import { indexedPackage } from '../../store/module-index.ts'

/**
 * Checks the names of modules that are not installed: there is nothing to do for them. But a name
 * that resembles an installed module is a typo, if nothing known here ever had it.
 * @throws {Failure} not found
 */
export async function assertNoTypo(
  directory: string,
  lock: LockFile,
  names: readonly string[],
): Promise<void> {
  const unknown = names.filter((name) => indexedPackage(name) === undefined)
  const near = unknown.filter((name) => nearInstalled(lock, name).length > 0)
  if (near.length === 0) return
  const { known, unreadable } = await readGenerations(directory)
  const locks = [lock, ...known.map((past) => past.lock)]
  const strange = near.filter((name) => locks.every((past) => installedId(past, name) === undefined))
  if (strange.length === 0) return
  const ledger = await readLedger(directory)
  const [name] = strange.filter((one) => !ledger.some(({ module }) => module === one))
  // A generation whose record cannot be read may have had it.
  if (name === undefined || unreadable.length > 0) return
  throw unknownHere(lock, name)
}
