import type { Statement, Step, Transaction } from '@mortise/module-sdk'
import { BrokenStorageError, isShortage } from '../port/errors.ts'
import { generatorOf } from '../port/generator-of.ts'
import { asStatement } from '../port/outbox.ts'
import type { Connection } from './connection.ts'

/**
 * Runs a generator to its end on a connection that is in a transaction. The error of a step is thrown into
 * the generator, which may go on; not so where SQLite has ended the transaction, something is short (room on the disk, say), or the file is broken:
 * then the generator is left where it is, since its next statement would commit by itself.
 */
export function drive<Result>(
  connection: Pick<Connection, 'execute' | 'inTransaction'>,
  steps: () => Transaction<Result>,
  read: (step: Step) => Statement = asStatement,
): Result {
  const generator = generatorOf(steps)
  let next = generator.next()
  while (!next.done) {
    let answer: unknown
    try {
      answer = connection.execute(read(next.value))
    } catch (error) {
      if (error instanceof BrokenStorageError || isShortage(error) || !connection.inTransaction) throw error
      next = generator.throw(error)
      continue
    }
    next = generator.next(answer)
  }
  return next.value
}
