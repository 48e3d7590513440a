import { readLockFile } from '@mortise/host'
import { currentGeneration, isExternalChange } from '../../changes/current-generation.ts'
import { restoredNotTakenUp } from '../../failures/index.ts'
import { activate } from './activate.ts'

/**
 * Makes the running host try failed modules again. The lock file stays as it is.
 * @returns whether the host serves them; undefined if nothing was restored, no host runs, or the
 * lock file is an external change, which needs a snapshot first
 * @throws {Failure} if one of them does not respond
 */
export async function activateRestored(
  directory: string,
  restored: readonly string[],
): Promise<boolean | undefined> {
  if (restored.length === 0) return undefined
  if (isExternalChange(await readLockFile(directory), await currentGeneration(directory))) return undefined
  const outcome = await activate(directory, { again: true })
  if (outcome === 'no host') return undefined
  if (outcome === 'served') return true
  throw restoredNotTakenUp({ reason: outcome.reason })
}
