import { sql } from '@mortise/module-sdk'
import type { SchemaObject } from '../migrations/foreign-change.ts'
import type { DatabaseSchema } from '../port/storage.ts'
import type { Connection } from './connection.ts'
import { prepareLedger, readLedger, recordMigration } from './ledger.ts'

export function readSchema(connection: Connection): SchemaObject[] {
  return connection.all<SchemaObject>(sql`
    SELECT 0 AS temporary, type, name, tbl_name AS "table", sql FROM sqlite_schema
    UNION ALL
    SELECT 1, type, name, tbl_name, sql FROM sqlite_temp_schema`)
}

/** What `adoptSchema` rebuilds. Of a virtual table's own tables nothing is said: they come with it. */
export function databaseSchema(connection: Connection): DatabaseSchema {
  const statements = connection.all<{ sql: string }>(sql`
    SELECT sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'
      AND name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow')
    ORDER BY type <> 'table', type = 'trigger', rowid`)
  return { statements: statements.map((row) => row.sql), ledger: readLedger(connection) }
}

/** @throws {Error} where the database is not empty */
export function adoptSchema(connection: Connection, { statements, ledger }: DatabaseSchema): void {
  connection.begin()
  try {
    if (readSchema(connection).length > 0)
      throw new Error('it is not empty, so it cannot begin with a schema')
    for (const statement of statements) connection.database.exec(statement)
    prepareLedger(connection)
    for (const entry of ledger) recordMigration(connection, entry)
    const failure = connection.commit()
    if (failure !== undefined) throw failure
  } catch (error) {
    if (connection.inTransaction) connection.rollback()
    throw error
  }
}
