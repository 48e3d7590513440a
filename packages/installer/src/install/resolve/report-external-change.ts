import { externalChanges } from '../../changes/current-generation.ts'
import { currentStays, exitCodes, Failure } from '../../failures/index.ts'
import type { Resolved } from './resolve.ts'

/**
 * Runs `work`. For an external lock file, prints its changes and, on a failure, the generation that
 * stays current.
 */
export async function reportExternalChange<Result>(
  { input: { terminal }, target, external }: Resolved,
  work: () => Promise<Result>,
): Promise<Result> {
  if (external === undefined) return await work()
  const { present } = external
  terminal.note(
    `Something other than an app command changed modules.lock.json, for example git pull. Compared with ${present === undefined ? 'an empty application' : `generation ${present.generation}`}: ${externalChanges(target, present)}`,
  )
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure) || present === undefined) throw error
    if (error.exitCode !== exitCodes.activation && error.exitCode !== exitCodes.refused) throw error
    throw currentStays(error, present.generation)
  }
}
