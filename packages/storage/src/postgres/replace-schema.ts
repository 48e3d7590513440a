import type { Client } from 'pg'
import { MigrationError, StorageBusyError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import { changeSchema, queryOn } from './change-schema.ts'
import { hostConnectionName } from './postgres-connections.ts'
import type { PostgresAddress } from './postgres-url.ts'
import { restoreRows, withSource } from './restore-rows.ts'
import { withConnection } from './with-connection.ts'

// All data of an application are replaced by making them in a schema beside its own, and giving that its name: the
// former one keeps its tables, under another name. Killed before, nothing has changed; after, all.

const LONGEST_NAME = 63
const named = (schema: string, suffix: string) => `${schema.slice(0, LONGEST_NAME - suffix.length)}${suffix}`
const staged = ({ schema }: PostgresAddress) => named(schema, '_restored')

/**
 * Makes the tables of a file in a schema beside that of the application.
 * @param generation names what is there now, once it is replaced
 * @param kept tables that each database has rows of its own in
 * @returns the name that the former schema is to have, and whether there is one
 * @throws {MigrationError} where PostgreSQL cannot have them
 * @throws {StorageBusyError} where a host runs
 * @throws {StorageUnreachableError}
 */
export async function stageSchema(
  url: string,
  file: string,
  sets: readonly MigrationSet[],
  generation: number,
  kept: readonly string[] = [],
): Promise<{ readonly former: string; readonly hadData: boolean }> {
  return await withConnection(url, async (client, place) => {
    await assertNoHost(client, place)
    const { rows } = await client.query(
      `SELECT nspname AS name, pg_has_role(nspowner, 'MEMBER') AS own FROM pg_namespace`,
    )
    const schemas = new Map<string, boolean>(rows.map(({ name, own }) => [name, own === 1]))
    if (schemas.get(place.schema) === false) {
      throw new MigrationError(
        `the schema "${place.schema}" belongs to another user, so it cannot be given another name: ALTER SCHEMA ${place.schema} OWNER TO this one`,
      )
    }
    await withSource(file, sets, async (source) => {
      // The first also removes what an attempt has left that was killed before it was decided.
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
    return { former: numbered(number), hadData: schemas.has(place.schema) }
  })
}

/**
 * Gives what was staged the name of the application's schema, and what was there the name `former`. Done already,
 * it does nothing.
 * @throws {StorageBusyError} where a host runs; nothing has changed then
 */
export async function replaceSchema(url: string, former: string): Promise<void> {
  await withConnection(url, async (client, place) => {
    const query = queryOn(client)
    const exists = async (schema: string) =>
      (await query('SELECT to_regnamespace($1) IS NOT NULL AS known', [schema])).rows[0].known === 1
    await query('BEGIN')
    if (!(await exists(staged(place)))) return
    await assertNoHost(client, place)
    if (await exists(place.schema)) await query(`ALTER SCHEMA ${place.schema} RENAME TO ${former}`)
    await query(`ALTER SCHEMA ${staged(place)} RENAME TO ${place.schema}`)
    await query('COMMIT')
  })
}

/** Removes what was staged, and is not to be. */
export async function dropStaged(url: string): Promise<void> {
  await withConnection(url, (client, place) => client.query(`DROP SCHEMA IF EXISTS ${staged(place)} CASCADE`))
}

/** On whichever machine: all keep connections of that name. */
async function assertNoHost(client: Client, place: PostgresAddress): Promise<void> {
  const { rows } = await client.query(
    `SELECT coalesce(host(client_addr), 'this machine') AS address FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = $1`,
    [hostConnectionName(place)],
  )
  if (rows.length === 0) return
  throw new StorageBusyError(`a host at ${rows[0].address} serves from ${place.name}`)
}
