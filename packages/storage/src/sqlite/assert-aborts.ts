import type SqliteDatabase from 'better-sqlite3'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'

/** A step of the program that SQLite makes of a statement: https://www.sqlite.org/opcode.html */
interface Operation {
  readonly opcode: string
  readonly p1: number
  readonly p2: number
  readonly p5: number
}

/** `OE_Rollback` of SQLite. */
const ROLLBACK = 1

/**
 * Whether a write ends the transaction when it meets a conflict, with those of others in it. Also
 * shows the triggers.
 */
export const rollsBack = (operations: readonly Operation[]): boolean =>
  operations.some(
    ({ opcode, p1, p2, p5 }) =>
      ((opcode === 'Halt' || opcode === 'HaltIfNull') && p1 !== 0 && p2 === ROLLBACK) ||
      (opcode === 'VUpdate' && p5 === ROLLBACK),
  )

/** The root pages of the tables and indexes that a program writes to. */
export const rootsWritten = (operations: readonly Operation[]): number[] =>
  operations.flatMap(({ opcode, p1, p2 }) => (opcode === 'OpenWrite' ? [p2] : opcode === 'Clear' ? [p1] : []))

/** The program of a statement that reads or writes rows, without running it. */
export const programOf = (database: SqliteDatabase.Database, text: string, values = 0) =>
  database.prepare(`EXPLAIN ${text}`).all(Array(values).fill(null)) as Operation[]

/**
 * Looks at what a write of each table would do. `foreign_keys` is on.
 * @throws {MigrationError} for a table whose conflicts end the transactions of others
 */
export function assertAborts(database: SqliteDatabase.Database): void {
  const names = database.prepare(
    `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'`,
  )
  for (const table of names.pluck().all() as string[]) {
    for (const text of writesOf(database, table)) {
      const operations = programIfAny(database, text)
      if (rollsBack(operations)) {
        throw new MigrationError(
          `a conflict in "${table}" ends other transactions by ROLLBACK: use ABORT, the default`,
        )
      }
      if (operations.some(({ opcode, p1 }) => opcode === 'FkCounter' && p1 !== 0)) {
        throw new MigrationError(
          `"${table}" has an INITIALLY DEFERRED key, which fails only at COMMIT, together with other transactions: leave the words out`,
        )
      }
    }
  }
}

function writesOf(database: SqliteDatabase.Database, table: string): string[] {
  const columns = database.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table) as string[]
  const [name, all] = [quoted(table), columns.map(quoted)]
  return [
    `INSERT INTO ${name} (${all.join(', ')}) SELECT ${all.map(() => 'random()').join(', ')}`,
    `UPDATE ${name} SET ${all.map((column) => `${column} = random()`).join(', ')}`,
    `DELETE FROM ${name}`,
  ]
}

/** None of a view without a trigger for it. */
function programIfAny(database: SqliteDatabase.Database, text: string): Operation[] {
  try {
    return programOf(database, text)
  } catch {
    return []
  }
}
