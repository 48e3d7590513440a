import type { Statement, Step, Transaction } from '@mortise/module-sdk'
import * as port from '../port/drive.ts'
import { BrokenStorageError, isShortage } from '../port/errors.ts'
import { generatorOf } from '../port/generator-of.ts'
import { asStatement } from '../port/outbox.ts'
import type { Connection } from './connection.ts'

/**
 * Runs a generator to its end within a connection's transaction. The error of a step is thrown into
 * the generator, which may continue. If SQLite has ended the transaction, after a shortage (such as
 * disk space), or for a broken file the generator stays where it is, since its next statement would
 * commit by itself.
 */
export const drive = <Result>(
  connection: Pick<Connection, 'execute' | 'inTransaction'>,
  steps: () => Transaction<Result>,
  read: (step: Step) => Statement = asStatement,
): Result =>
  port.drive(
    generatorOf(steps),
    (step) => connection.execute(read(step)),
    (error) => error instanceof BrokenStorageError || isShortage(error) || !connection.inTransaction,
  )
