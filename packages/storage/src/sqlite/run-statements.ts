import { DatabaseError } from '@mortise/module-sdk/transaction'
import type SqliteDatabase from 'better-sqlite3'
import { compile, compileRows } from './compile-rows.ts'

/** The words of statements that would take the transaction, the connection or the file away. */
const OF_ENGINE = new Set([
  ...['ATTACH', 'BEGIN', 'COMMIT', 'DETACH', 'END', 'PRAGMA'],
  ...['RELEASE', 'ROLLBACK', 'SAVEPOINT', 'VACUUM'],
])

/**
 * Runs the statements of a migration. SQLite finds where each one ends.
 * @throws {DatabaseError} `refused` for one that belongs to the engine
 */
export function runStatements(database: SqliteDatabase.Database, text: string): void {
  let rest = text
  let end = 0
  for (;;) {
    end = rest.indexOf(';', end) + 1
    const statement = end === 0 ? rest : rest.slice(0, end)
    const word = compileRows(database, statement)
    if (typeof word === 'string' && OF_ENGINE.has(word))
      throw new DatabaseError('refused', `${word} belongs to the storage engine: leave it out`)
    const isWhole = end === 0 || word === ';' || endsHere(database, statement)
    if (!isWhole) continue
    database.exec(statement)
    if (end === 0) return
    rest = rest.slice(end)
    end = 0
  }
}

/** Whether another statement could follow: the semicolon is no part of a text, comment or trigger. */
function endsHere(database: SqliteDatabase.Database, statement: string): boolean {
  const error = compile(database, `${statement} SELECT 1`)
  return error instanceof RangeError && error.message.includes('more than one statement')
}
