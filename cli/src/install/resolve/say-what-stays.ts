import { externalChanges } from '../../changes/current-generation.ts'
import { exitCodes, Failure } from '../../failures/index.ts'
import type { Resolved } from './resolve.ts'

/**
 * Runs `work`. For an external lock file, prints its changes and, on a failure, the generation that
 * stays in force.
 */
export async function sayWhatStays<Result>(
  { input: { terminal }, target, fromOutside }: Resolved,
  work: () => Promise<Result>,
): Promise<Result> {
  if (fromOutside === undefined) return await work()
  const { present } = fromOutside
  terminal.note(
    `modules.lock.json came from outside. Against ${present === undefined ? 'nothing installed' : `generation ${present.generation}`}: ${externalChanges(target, present)}`,
  )
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure) || present === undefined) throw error
    const kind = error.exitCode === exitCodes.activation ? 'activation' : 'refused'
    if (error.exitCode !== exitCodes[kind]) throw error
    throw new Failure(
      kind,
      error.code,
      `${error.message} Generation ${present.generation} stays in force.`,
      `${error.hint} modules.lock.json is left as it is, and the next start would run it: restore the former file (git checkout), or go back with "app module-rollback".`,
      { cause: error },
    )
  }
}
