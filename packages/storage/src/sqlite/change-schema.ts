import { Sql } from '@mortise/module-sdk/sql'
import type { SchemaStep, SchemaSteps } from '../migrations/dialect.ts'
import { BrokenStorageError, isShortage } from '../port/errors.ts'
import { drive } from '../port/steps.ts'
import type { Connection } from './connection.ts'
import { toDatabaseError } from './database-error.ts'
import { runStatements } from './run-statements.ts'

/**
 * Runs these steps in one transaction: all or nothing.
 *
 * Foreign keys are off meanwhile, and the steps end with a search for orphans in the changed
 * tables, as SQLite recommends for schema changes: with foreign keys on, dropping a table to
 * rebuild it would cascade to the rows of its children.
 *
 * @throws {DatabaseError} `busy` if the write lock is taken: nothing has happened
 */
export function changeSchema<Result>(connection: Connection, steps: () => SchemaSteps<Result>): Result {
  connection.database.pragma('foreign_keys = OFF')
  try {
    connection.begin()
    try {
      const result = runSteps(connection, steps())
      const failure = connection.commit()
      if (failure !== undefined) throw failure
      return result
    } catch (error) {
      if (connection.inTransaction) connection.rollback()
      throw error
    }
  } finally {
    connection.database.pragma('foreign_keys = ON')
  }
}

/** Runs steps in the connection's open transaction; without one each step commits by itself. */
export function runSteps<Result>(connection: Connection, steps: SchemaSteps<Result>): Result {
  return drive(
    () => steps,
    (step) => take(connection, step),
    (error) => error instanceof BrokenStorageError || isShortage(error),
  )
}

function take(connection: Connection, step: SchemaStep): unknown {
  if (typeof step === 'function') return step()
  if (step instanceof Sql) return connection.all(step)
  try {
    return runStatements(connection.database, step)
  } catch (error) {
    throw toDatabaseError(error, step, connection.database.name)
  }
}
