import { readLockFile } from '@mortise/host'
import { inForce, isExternalChange } from '../../changes/current-generation.ts'
import { restoredNotTakenUp } from '../../failures/index.ts'
import { activate } from './activate.ts'

/**
 * Has the running host try again the modules that have failed in it. The lock stays as it is.
 * @returns whether it serves them; undefined where nothing was restored, no host runs, or the lock came from outside,
 *   which is taken up with a snapshot only
 * @throws {Failure} where one of them does not answer
 */
export async function activateRestored(
  directory: string,
  restored: readonly string[],
): Promise<boolean | undefined> {
  if (restored.length === 0) return undefined
  if (isExternalChange(await readLockFile(directory), await inForce(directory))) return undefined
  const outcome = await activate(directory, { again: true })
  if (outcome === 'no host') return undefined
  if (outcome === 'served') return true
  throw restoredNotTakenUp({ reason: outcome.reason })
}
