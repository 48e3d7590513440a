import { sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import { runAll } from '../migrations/migrate.ts'
import { type MigrationFile, readMigrations } from '../migrations/migration-files.ts'
import { type ChangedTables, compareParts, type TablePart } from '../migrations/table-parts.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import { inTransaction, queryOn, runSteps } from './change-schema.ts'
import { dialect } from './dialect.ts'
import { withConnection } from './with-connection.ts'

/** How long a statement of a migration may take on empty tables. */
const TIMEOUT = '10s'

const tableParts = sql`
  WITH own AS (
    SELECT oid, relname::text AS "table", relkind FROM pg_class
    WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p', 'v', 'm'))
  SELECT "table", 'table' AS part, CASE WHEN relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS details FROM own
  UNION ALL
  SELECT "table", format('column "%s"', attname),
    format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
  FROM own JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped WHERE relkind IN ('r', 'p')
  UNION ALL
  SELECT "table", format('index "%s"', c.relname), CASE WHEN indisunique THEN 'unique' ELSE 'not unique' END
  FROM own JOIN pg_index ON indrelid = own.oid JOIN pg_class AS c ON c.oid = indexrelid
  UNION ALL
  SELECT "table", format('trigger "%s"', tgname), 'trigger' FROM own JOIN pg_trigger ON tgrelid = own.oid
  WHERE NOT tgisinternal`

/** See `DatabaseInspection.changed`. */
export const changedTables = (url: string, sets: readonly MigrationSet[]): Promise<ChangedTables[]> =>
  withConnection(url, async (client) => {
    const [text = ''] = tableParts.strings
    const { rows } = await queryOn(client)(text)
    const changes: ChangedTables[] = []
    for (const set of sets) {
      const expected = await partsInEmptySchema(client, set, await readMigrations(set, 'postgres'))
      if (expected !== undefined) changes.push(...compareParts(set.module, expected, rows))
    }
    return changes
  })

/** Rolled back. Undefined without the right to create a schema. */
async function partsInEmptySchema(
  client: Client,
  set: MigrationSet,
  files: readonly MigrationFile[],
): Promise<TablePart[] | undefined> {
  let parts: TablePart[] | undefined
  try {
    await inTransaction(client, '', async (query) => {
      await query(`SET LOCAL statement_timeout = '${TIMEOUT}'`)
      const work = function* () {
        yield* runAll(set, files)
        parts = yield tableParts
      }
      await runSteps(query, dialect.alone(work))
    })
  } catch (error) {
    if (!(error instanceof DatabaseError || error instanceof MigrationError)) throw error
  }
  return parts
}
