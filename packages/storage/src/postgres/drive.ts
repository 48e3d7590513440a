import type { Statement, Step, Transaction } from '@mortise/module-sdk'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { driveAsync, generatorOf, isEmpty } from '../port/steps.ts'
import { RetriableError } from './database-error.ts'
import { NeedsWaiting, type Session } from './session.ts'

/**
 * Runs a generator to its end, on a session whose transaction `begin` opens before the first
 * statement. The error of a statement is thrown into the generator, which may continue, unless a
 * retry of the whole transaction can succeed.
 *
 * At first the generator does not wait for a step without a reply, or with an expected one. Nobody
 * sees the difference: a step that fails, or returns otherwise, undoes the transaction before its
 * COMMIT, and before any error of the generator is believed. It then runs again with `waited`.
 *
 * @param waited why it runs again: now each step is waited for, in a savepoint
 * @throws {NeedsWaiting} without `waited`, if the generator continues after an error, or a step that
 * it did not wait for is not as expected
 */
export async function drive<Result>(
  session: Session,
  mode: string,
  steps: () => Transaction<Result>,
  read: (step: Step) => Statement,
  waited: NeedsWaiting | undefined,
): Promise<Result> {
  let count = 0
  let isBegun = false
  let failed: NeedsWaiting | undefined
  const take = async (step: Step) => {
    if (failed !== undefined) throw failed
    const number = count++
    // It would take as long once more.
    if (waited?.step === number && isBusy(waited.error)) throw waited.error
    try {
      const statement = read(step)
      if (isEmpty(statement.query?.postgres)) return statement.want === 'rows' ? [] : 0
      if (!isBegun) session.begin(mode)
      isBegun = true
      if (waited) return await session.executeInSavepoint(statement)
      if (statement.want !== 'nothing' && statement.expected === undefined)
        return await session.execute(statement)
      session.defer(statement, number)
      return statement.expected
    } catch (error) {
      if (!waited) failed = new NeedsWaiting(number)
      throw error
    }
  }
  const ends = (error: unknown) => error instanceof RetriableError || error instanceof NeedsWaiting
  let result: Result
  try {
    result = await driveAsync(() => generatorOf(steps), take, ends)
  } catch (error) {
    if (!ends(error)) await session.flush()
    throw error
  }
  if (failed !== undefined) throw failed
  return result
}

const isBusy = (error: unknown) => error instanceof DatabaseError && error.kind === 'busy'
