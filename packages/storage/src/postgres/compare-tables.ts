import { sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import { runAll } from '../migrations/migrate.ts'
import { readMigrations } from '../migrations/migration-files.ts'
import {
  type ChangedTables,
  type ComparedTables,
  compareParts,
  type TablePart,
  type UncheckedTables,
} from '../migrations/table-parts.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { MigrationSet } from '../port/storage.ts'
import { inTransaction, type Query, queryOn, READ_ONLY, runSteps } from './change-schema.ts'
import { inEmptySchema, onTemporaryTables } from './dialect.ts'
import { withTemporaryFunctions } from './temporary-functions.ts'
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

interface Rights {
  readonly role: string
  readonly database: string
  readonly schemas: boolean
  readonly temporary: boolean
}

/** See `DatabaseInspection`. */
export const compareTables = (url: string, sets: readonly MigrationSet[]): Promise<ComparedTables> =>
  withConnection(url, async (client) => {
    const query = queryOn(client)
    const [text = ''] = tableParts.strings
    const { rows } = await query(text)
    const rights = await readRights(query)
    const changed: ChangedTables[] = []
    const unchecked: UncheckedTables[] = []
    for (const set of sets) {
      try {
        const expected = await partsInEmptySchema(client, set, rights)
        changed.push(...compareParts(set.module, expected, rows))
      } catch (error) {
        unchecked.push({ module: set.module, ...whyUnchecked(error, rights) })
      }
    }
    return { changed, unchecked }
  })

async function readRights(query: Query): Promise<Rights> {
  const { rows } = await query(`
    SELECT current_user::text AS role, current_database()::text AS database,
      has_database_privilege(current_database(), 'CREATE') AS schemas,
      has_database_privilege(current_database(), 'TEMPORARY') AS temporary`)
  const { schemas, temporary, ...names } = rows[0]
  return { ...names, schemas: schemas === 1, temporary: temporary === 1 }
}

class NoRightError extends Error {}

/** Rolled back. Temporary tables do for a role that owns its schema and has no other right. */
async function partsInEmptySchema(
  client: Client,
  set: MigrationSet,
  { role, database, schemas, temporary }: Rights,
): Promise<TablePart[]> {
  if (!schemas && !temporary)
    throw new NoRightError(
      `the role "${role}" may create neither schemas nor temporary tables in the database "${database}"`,
    )
  const read = await readMigrations(set, 'postgres')
  const files = schemas
    ? read
    : await Promise.all(read.map(async (file) => ({ ...file, up: await withTemporaryFunctions(file.up) })))
  let parts: TablePart[] = []
  await inTransaction(client, '', async (query) => {
    await query(`SET LOCAL statement_timeout = '${TIMEOUT}'; SET LOCAL lock_timeout = '1s'`)
    const work = function* () {
      yield* runAll(set, files)
      parts = yield tableParts
    }
    await runSteps(query, schemas ? inEmptySchema(work) : onTemporaryTables(work))
  })
  return parts
}

/** @throws {Error} for another error than one of the database or of a migration */
function whyUnchecked(error: unknown, { role, database, schemas, temporary }: Rights) {
  const grant = (right: string) => `GRANT ${right} ON DATABASE ${quoted(database)} TO ${quoted(role)};`
  if (error instanceof NoRightError) return { reason: error.message, remedy: grant('TEMPORARY') }
  const isOfDatabase = error instanceof DatabaseError && error.kind !== 'unavailable'
  if (!(isOfDatabase || error instanceof MigrationError)) throw error
  if ([error, error.cause].some((one) => one instanceof DatabaseError && one.kind === 'read-only'))
    return { reason: READ_ONLY, remedy: 'Run "app doctor" again when it accepts writes.' }
  const again = 'Run "app doctor" again.'
  return { reason: error.message, remedy: !schemas && temporary ? `${grant('CREATE')} ${again}` : again }
}
