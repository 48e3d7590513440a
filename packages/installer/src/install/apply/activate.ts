import { readLockFile } from '@mortise/application'
import { callRunningHost, HostRefusedError } from '@mortise/host'
import { currentGeneration, isExternalChange } from '../../changes/current-generation.ts'
import type { Journal } from '../../changes/journal.ts'
import { restoredNotTakenUp } from '../../failures/index.ts'

type Activation = 'served' | 'no host' | { readonly reason: string }

/**
 * @param options.again whether to try failed modules once more
 * @param options.config the change of a setting, for the host that watches the change
 */
export async function activate(
  directory: string,
  { again = false, config }: { readonly again?: boolean; readonly config?: Journal['config'] } = {},
): Promise<Activation> {
  try {
    const activated = await callRunningHost(directory, 'activate', { again, ...(config && { config }) })
    return activated === undefined ? 'no host' : 'served'
  } catch (error) {
    return { reason: error instanceof HostRefusedError ? error.reason : (error as Error).message }
  }
}

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
