import { Failure, previousNotFetched, storeIncompleteForDryRun } from '../../failures/index.ts'
import { KEPT } from '../../store/installed-packages.ts'
import type { Resolved } from '../resolve/resolve.ts'
import { npmOptions } from './npm-options.ts'
import { restorePackages, stageLocked } from './restore-store.ts'

/**
 * Fetches packages of an old generation that are no longer in the store. They were installed here
 * before, so they go straight back into the store.
 */
export async function fetchPrevious(
  { input: { directory, dryRun }, target, back }: Resolved,
  missing: readonly string[],
): Promise<void> {
  if (missing.length === 0) return
  const to = back?.generation ?? target.generation
  if (dryRun) throw storeIncompleteForDryRun({ generation: to, missing: missing.join(', ') })
  try {
    const npm = await npmOptions(directory)
    await restorePackages(directory, await stageLocked(directory, target, missing, { directory, npm }))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw previousNotFetched(error, to, KEPT)
  }
}
