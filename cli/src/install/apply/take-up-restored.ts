import { readLockFile } from '@mortise/host'
import { inForce, isExternalChange } from '../../changes/current-generation.ts'
import { Failure } from '../../failures/index.ts'
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
  if (isExternalChange(await readLockFile(directory), await inForce(directory))) return undefined
  const outcome = await activate(directory, { again: true })
  if (outcome === 'no host') return undefined
  if (outcome === 'served') return true
  throw new Failure(
    'activation',
    'activation-failed',
    `The store is in line with the lock again, but the running host could not take that up: ${outcome.reason}. It serves as before.`,
    'Correct what it says, then restart the host.',
  )
}
