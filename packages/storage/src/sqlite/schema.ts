import { sql } from '@mortise/module-sdk/sql'
import * as migrations from '../migrations/ledger.ts'
import type { DatabaseSchema, LedgerEntry } from '../port/storage.ts'
import { runSteps } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { dialect } from './dialect.ts'
import { runStatements } from './run-statements.ts'

export const readLedger = (connection: Connection): LedgerEntry[] =>
  runSteps(connection, migrations.readLedger(dialect))

/** The input of `adoptSchema`. Leaves out the tables behind virtual ones, which come with these. */
export function databaseSchema(connection: Connection): DatabaseSchema {
  return { statements: statementsOf(connection).map((row) => row.sql), ledger: readLedger(connection) }
}

/** What creates the schema, in an executable order, with the table of each. */
export const statementsOf = (connection: Connection) =>
  connection.all<{ table: string; sql: string }>(sql`
    SELECT tbl_name AS "table", sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'
      AND name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow')
    ORDER BY type <> 'table', type = 'trigger', rowid`)

/** @throws {Error} if the database is not empty */
export function adoptSchema(connection: Connection, { statements, ledger }: DatabaseSchema): void {
  connection.begin()
  try {
    if (connection.all(dialect.objects).length > 0)
      throw new Error('it is not empty, so a schema cannot be created')
    for (const statement of statements) runStatements(connection.database, statement)
    runSteps(connection, migrations.adoptLedger(dialect, ledger))
    const failure = connection.commit()
    if (failure !== undefined) throw failure
  } catch (error) {
    if (connection.inTransaction) connection.rollback()
    throw error
  }
}
