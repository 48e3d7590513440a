import type { Statement, Step, Transaction } from '@mortise/module-sdk'
import { driveAsync, generatorOf } from '../port/steps.ts'
import { RetriableError } from './database-error.ts'
import type { Session } from './session.ts'

/** The generator continues after an error, which takes a savepoint before each statement. */
export class NeedsSavepoints extends Error {}

/**
 * Runs a generator to its end, on a session whose transaction `begin` opens before the first
 * statement. The error of a statement is thrown into the generator, which may continue, unless a
 * retry of the whole transaction can succeed.
 *
 * @throws {NeedsSavepoints} if `savepoints` is false and the generator continues after an error:
 * run it again with them
 */
export async function drive<Result>(
  session: Session,
  mode: string,
  steps: () => Transaction<Result>,
  read: (step: Step) => Statement,
  savepoints: boolean,
): Promise<Result> {
  let isBegun = false
  let isLost = false
  const take = async (step: Step) => {
    if (isLost) throw new NeedsSavepoints()
    if (!isBegun) session.begin(mode)
    isBegun = true
    try {
      const statement = read(step)
      return await (savepoints ? session.executeInSavepoint(statement) : session.execute(statement))
    } catch (error) {
      isLost = !savepoints
      throw error
    }
  }
  const result = await driveAsync(
    generatorOf(steps),
    take,
    (error) => error instanceof RetriableError || error instanceof NeedsSavepoints,
  )
  if (isLost) throw new NeedsSavepoints()
  return result
}
