import { exitCodes, Failure } from '../../failures/index.ts'
import { KEPT } from '../../store/installed-packages.ts'
import type { Resolved } from '../resolve/resolve.ts'
import { npmOptions } from './npm-options.ts'
import { restorePackages, stageLocked } from './restore-store.ts'

/**
 * Fetches packages of an old generation that are no longer in the store. They were installed here
 * before, so they go straight back into the store.
 * @throws {Failure}
 */
export async function fetchFormer(
  { input: { directory, dryRun }, target, back }: Resolved,
  missing: readonly string[],
): Promise<void> {
  if (missing.length === 0) return
  const to = back?.generation
  if (dryRun) {
    throw new Failure(
      'refused',
      'store-incomplete',
      `A dry run fetches nothing, and the store does not have all of generation ${to}: ${missing.join(', ')}.`,
      'Nothing was changed. Run it without --dry-run on a terminal: it fetches them, shows the plan and asks.',
    )
  }
  try {
    const npm = await npmOptions(directory)
    await restorePackages(directory, await stageLocked(directory, target, missing, { directory, npm }))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(
      error.exitCode === exitCodes.refused ? 'refused' : 'notFound',
      error.code,
      `Generation ${to} cannot be gone back to: the store has not all of it any more, and it cannot be fetched again. ${error.message}`,
      `Put back what it came from, or install another version. The store keeps the last ${KEPT} generations.`,
      { cause: error },
    )
  }
}
