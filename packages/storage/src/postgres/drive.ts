import type { Statement, Step, Transaction } from '@mortise/module-sdk'
import { generatorOf } from '../port/generator-of.ts'
import { RetriableError } from './database-error.ts'
import type { Session } from './session.ts'

/** The generator has caught the error of a statement and goes on, which takes a savepoint before each. */
export class NeedsSavepoints extends Error {}

/**
 * Runs a generator to its end, on a session whose transaction `begin` opens before the first statement. The error of
 * a statement is thrown into the generator, which may go on: not so where it can pass when all is run again.
 *
 * @throws {NeedsSavepoints} where `savepoints` is false and the generator goes on after an error: run it again with them
 */
export async function drive<Result>(
  session: Session,
  mode: string,
  steps: () => Transaction<Result>,
  read: (step: Step) => Statement,
  savepoints: boolean,
): Promise<Result> {
  const generator = generatorOf(steps)
  let next = generator.next()
  if (!next.done) session.begin(mode)
  while (!next.done) {
    let answer: unknown
    try {
      const statement = read(next.value)
      answer = await (savepoints ? session.executeInSavepoint(statement) : session.execute(statement))
    } catch (error) {
      if (error instanceof RetriableError) throw error
      next = generator.throw(error)
      if (!savepoints) throw new NeedsSavepoints()
      continue
    }
    next = generator.next(answer)
  }
  return next.value
}
