import type { Client } from 'pg'
import { MigrationError, StorageBusyError, StorageUnfitError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import { changeSchema, inTransaction } from './change-schema.ts'
import { hostConnectionName } from './postgres-connections.ts'
import type { PostgresAddress } from './postgres-url.ts'
import { restoreRows, withSource } from './restore-rows.ts'
import { withConnection } from './with-connection.ts'

// To replace all data of an application, a second schema is built and gets the name of its own one;
// the previous schema keeps its tables under another name. A crash before the renaming changes
// nothing; after it, the change is complete.

const LONGEST_NAME = 63
const named = (schema: string, suffix: string) => `${schema.slice(0, LONGEST_NAME - suffix.length)}${suffix}`
const staged = ({ schema }: PostgresAddress) => named(schema, '_restored')

/**
 * Builds the tables of a file in a second schema.
 * @param generation names the current data after their replacement
 * @param kept tables with rows that belong to one database
 * @returns the future name of the previous schema, and whether there is one
 * @throws {MigrationError} if PostgreSQL cannot hold the data
 * @throws {StorageBusyError} if a host runs
 * @throws {StorageUnreachableError}
 */
export async function stageSchema(
  url: string,
  file: string,
  sets: readonly MigrationSet[],
  generation: number,
  kept: readonly string[] = [],
): Promise<{ readonly previous: string; readonly hadData: boolean }> {
  return await withConnection(url, async (client, place) => {
    await assertNoHost(client, place)
    await assertCreates(client)
    const { rows } = await client.query(
      `SELECT nspname AS name, pg_has_role(nspowner, 'MEMBER') AS own FROM pg_namespace`,
    )
    const schemas = new Map<string, boolean>(rows.map(({ name, own }) => [name, own === 1]))
    if (schemas.get(place.schema) === false) {
      throw new MigrationError(
        `the schema "${place.schema}" belongs to another user, so it cannot be renamed: run ALTER SCHEMA ${place.schema} OWNER TO this user`,
      )
    }
    await withSource(file, sets, async (source) => {
      // Also removes the remains of an attempt that was killed before its decision.
      await client.query(`DROP SCHEMA IF EXISTS ${staged(place)} CASCADE`)
      await client.query(`CREATE SCHEMA ${staged(place)}`)
      await client.query(`SET search_path = ${staged(place)}`)
      await changeSchema(client, (query) =>
        restoreRows(client, query, source, (name) => !kept.includes(name)),
      )
    })
    const numbered = (number: number) =>
      named(place.schema, `_before_generation_${generation}${number === 1 ? '' : `_${number}`}`)
    let number = 1
    while (schemas.has(numbered(number))) number += 1
    return { previous: numbered(number), hadData: schemas.has(place.schema) }
  })
}

/**
 * Gives the staged schema the name of the application's schema, and the current one the name
 * `previous`. Repeating it changes nothing.
 * @throws {StorageBusyError} if a host runs; nothing has changed then
 */
export async function replaceSchema(url: string, previous: string): Promise<void> {
  await withConnection(url, async (client, place) => {
    await inTransaction(client, '', async (query) => {
      const exists = async (schema: string) =>
        (await query('SELECT to_regnamespace($1) IS NOT NULL AS known', [schema])).rows[0].known === 1
      if (!(await exists(staged(place)))) return
      await assertNoHost(client, place)
      if (await exists(place.schema)) await query(`ALTER SCHEMA ${place.schema} RENAME TO ${previous}`)
      await query(`ALTER SCHEMA ${staged(place)} RENAME TO ${place.schema}`)
    })
  })
}

async function assertCreates(client: Client): Promise<void> {
  const { rows } = await client.query(
    `SELECT has_database_privilege(current_database(), 'CREATE') AS creates, current_user AS role, current_database() AS database`,
  )
  if (rows[0].creates === 1) return
  const [role, database] = [rows[0].role, rows[0].database].map((name) => client.escapeIdentifier(name))
  throw new StorageUnfitError(
    `a restoration fills a second schema, and the role ${role} may not create one: as a superuser, run GRANT CREATE ON DATABASE ${database} TO ${role}`,
  )
}

/** Removes a staged schema that is not needed. */
export async function dropStaged(url: string): Promise<void> {
  await withConnection(url, (client, place) => client.query(`DROP SCHEMA IF EXISTS ${staged(place)} CASCADE`))
}

/** Finds hosts on any machine: all keep connections whose names begin with that. */
async function assertNoHost(client: Client, place: PostgresAddress): Promise<void> {
  const { rows } = await client.query(
    `SELECT coalesce(host(client_addr), 'this machine') AS address FROM pg_stat_activity
     WHERE datname = current_database() AND starts_with(application_name || ' ', left($1, 63) || ' ')`,
    [hostConnectionName(place)],
  )
  if (rows.length === 0) return
  throw new StorageBusyError(`a host at ${rows[0].address} serves from ${place.name}`)
}
