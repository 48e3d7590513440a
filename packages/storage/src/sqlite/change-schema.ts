import { isOwn } from '../migrations/foreign-change.ts'
import type { Connection } from './connection.ts'
import { readSchema } from './schema.ts'

/**
 * Does `work` in one transaction: all of it, or nothing.
 *
 * Foreign keys are off meanwhile, and `work` ends with looking for `orphanIn` what it has changed, as SQLite
 * advises for changing a schema: with them on, dropping a table in order to rebuild it would cascade to the rows
 * of its children.
 *
 * @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened
 */
export function changeSchema<Result>(connection: Connection, work: () => Result): Result {
  connection.database.pragma('foreign_keys = OFF')
  try {
    connection.begin()
    try {
      const result = work()
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

export interface Orphan {
  readonly table: string
  readonly parent: string
}

/** A row whose parent is gone, in the tables with these prefixes: those of others are as they were, and may be large. */
export function orphanIn(connection: Connection, prefixes: readonly string[]): Orphan | undefined {
  return readSchema(connection)
    .filter(({ type, name }) => type === 'table' && prefixes.some((prefix) => isOwn(prefix, name)))
    .flatMap(({ name }) => connection.database.pragma(`foreign_key_check("${name}")`) as Orphan[])[0]
}
