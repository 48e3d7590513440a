import type { Client } from 'pg'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import { changeSchema, type Query } from './change-schema.ts'
import { assertRights } from './open-postgres.ts'
import type { PostgresAddress } from './postgres-url.ts'
import { type RestoredTable, restoreRows, withSource } from './restore-rows.ts'
import { withConnection } from './with-connection.ts'

// A SQLite database moves into an empty schema, in one transaction. A comment on the ledger names
// the application. So the next attempt knows the data of one that was killed before the application
// used them, and replaces them.

const MARK = 'moved by app migrate-data from '

export interface FillOptions {
  /** The SQLite file. A host that reads may have it open. */
  readonly file: string
  readonly url: string
  /** The migrations of all available packages, of any version. */
  readonly sets: readonly MigrationSet[]
  /** Identifies the application. */
  readonly owner: string
  /** Tables with rows of their own database. Every database that was in use has some. */
  readonly kept: readonly string[]
  /** Called when the schema is there. The file may not change from then on. */
  readonly begin: () => Promise<void>
  /** Called as rows are copied, with their number since the last call. */
  readonly onRows: (count: number) => void
}

/**
 * Fills an empty schema with the data of a SQLite file, and compares each row with what the server
 * stored.
 * @throws {MigrationError} if the schema is in use, or cannot hold the data; nothing has changed
 * @throws {DatabaseError} `foreign-key` if a reference does not hold; nothing has changed
 * @throws {StorageUnreachableError}
 */
export async function fillSchema({ file, url, sets, ...options }: FillOptions): Promise<RestoredTable[]> {
  const { owner, kept, begin, onRows } = options
  const isMeant = (name: string) => !kept.includes(name)
  return await withConnection(url, async (client, place) => {
    await assertRights(client, place.schema)
    return await changeSchema(
      client,
      async (query) => {
        await makeRoom(client, query, place, { owner, kept })
        await begin()
        const tables = await withSource(file, sets, (source) =>
          restoreRows(client, query, source, isMeant, { compare: true, onRows }),
        )
        await query(`COMMENT ON TABLE mortise_migration IS ${client.escapeLiteral(MARK + owner)}`)
        return tables
      },
      place.schema,
    )
  })
}

/** Makes the schema, or empties it of an attempt that no host has used. */
async function makeRoom(
  client: Client,
  query: Query,
  { schema, name }: PostgresAddress,
  { owner, kept }: Pick<FillOptions, 'owner' | 'kept'>,
): Promise<void> {
  const [state] = (
    await client.query(
      `SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = pg_namespace.oid) AS used,
         obj_description(to_regclass(nspname || '.mortise_migration'), 'pg_class') AS mark,
         pg_has_role(nspowner, 'MEMBER') AS own
       FROM pg_namespace WHERE nspname = $1`,
      [schema],
    )
  ).rows as { used: number; mark: string | null; own: number }[]
  if (state?.used === 1) {
    if (!state.mark?.startsWith(MARK) || (await hasRows(query, kept))) {
      throw new MigrationError(`${name} is in use: it has tables. Choose another schema with ?schema=`)
    }
    if (state.mark !== MARK + owner) {
      throw new MigrationError(
        `${name} has the unfinished move of another application. Choose another schema with ?schema=, or drop that schema`,
      )
    }
    if (state.own !== 1) {
      throw new MigrationError(
        `${name} has the rows of a move that was killed, and the schema belongs to another user: drop it, or run ALTER SCHEMA ${schema} OWNER TO this user`,
      )
    }
    await query(`DROP SCHEMA ${schema} CASCADE`)
  }
  if (state?.used !== 0) await query(`CREATE SCHEMA ${schema}`)
}

async function hasRows(query: Query, tables: readonly string[]): Promise<boolean> {
  for (const table of tables) {
    const { rows } = await query('SELECT to_regclass($1) IS NOT NULL AS known', [table])
    if (rows[0].known === 1 && (await query(`SELECT FROM ${table} LIMIT 1`)).rows.length > 0) return true
  }
  return false
}
