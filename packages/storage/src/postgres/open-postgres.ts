import { setCurrentTime } from '@mortise/module-sdk/current-time'
import { sql } from '@mortise/module-sdk/sql'
import type { Client } from 'pg'
import { NoDatabaseError, StorageUnfitError } from '../port/errors.ts'
import { MonotonicClock } from '../port/monotonic-clock.ts'
import type { Storage } from '../port/storage.ts'
import { assertUsable, openingError } from './assert-usable.ts'
import { inTransaction } from './change-schema.ts'
import { despiteLocks } from './lock-holders.ts'
import { Connections, type ConnectionsOptions } from './postgres-connections.ts'
import { type PostgresOptions, PostgresStorage } from './postgres-storage.ts'
import type { PostgresAddress } from './postgres-url.ts'
import { ServerClock, serverTime } from './server-clock.ts'

/** Of the server's clock: the first response on a connection takes longest. */
const SAMPLES = 5

/**
 * Opens the database of one host of an application; others may have it open as well.
 * @param create creates a missing schema
 * @throws {StorageUnreachableError} that says why it cannot be used
 * @throws {DatabaseLockedError}
 * @throws {NoDatabaseError} if the schema is missing and must not be created
 */
export async function openPostgres(
  place: PostgresAddress,
  create: boolean,
  {
    renewUrl,
    ...options
  }: Omit<PostgresOptions, 'onClosed'> & { readonly renewUrl: ConnectionsOptions['renew'] },
): Promise<Storage> {
  const connections = new Connections(place, { renew: renewUrl })
  try {
    await connections.withClient(async (client) => {
      await connections.assertOwnSession(client)
      await despiteLocks(
        client,
        (look) => connections.withClient(look),
        () => prepare(client, place, create),
      )
    })
    const server = await readClock(connections)
    const clock = new MonotonicClock(() => server.now())
    const onClosed = setCurrentTime(() => clock.now())
    return new PostgresStorage(connections, server, { ...options, onClosed })
  } catch (error) {
    await connections.close()
    throw openingError(place, error)
  }
}

async function readClock(connections: Connections): Promise<ServerClock> {
  const clock = new ServerClock()
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const { rows } = await connections.read(sql`SELECT ${serverTime} AS time`)
    clock.sample(rows[0].time)
  }
  return clock
}

async function prepare(client: Client, { schema, name }: PostgresAddress, create: boolean): Promise<void> {
  await assertUsable(client)
  const isThere = await isPresent(client, schema)
  if (!isThere && !create) throw new NoDatabaseError(`${name} is missing`)
  await assertRights(client, schema)
  if (isThere) return
  // Several hosts may start at once, and IF NOT EXISTS does not prevent a conflict.
  await inTransaction(client, '', async (query) => {
    await query(`SET LOCAL lock_timeout = '30s'`)
    await query(`SELECT pg_advisory_xact_lock(hashtextextended('mortise ' || $1, 0))`, [schema])
    // It requires the right to create schemas even for an existing one.
    if (!(await isPresent(client, schema))) await query(`CREATE SCHEMA ${schema}`)
  })
}

/** Names the missing right before anything fails for it. @throws {StorageUnfitError} */
export async function assertRights(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_user AS role, current_database() AS database,
       has_database_privilege(current_database(), 'CREATE') AS creates, nspname IS NOT NULL AS present,
       has_schema_privilege(pg_namespace.oid, 'USAGE') AS uses, pg_get_userbyid(nspowner) AS owner,
       pg_get_userbyid(relowner) AS keeper, has_table_privilege(pg_class.oid, 'SELECT') AS reads
     FROM (VALUES ($1)) AS wanted (name) LEFT JOIN pg_namespace ON nspname = name
       LEFT JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = 'mortise_migration'`,
    [schema],
  )
  const { creates, present, uses, owner, keeper, reads } = rows[0]
  const [role, database] = [rows[0].role, rows[0].database].map((name) => client.escapeIdentifier(name))
  const missing = (what: string, remedy: string) =>
    new StorageUnfitError(`the role ${role} may not ${what}: as a superuser, run ${remedy}`)
  if (present !== 1) {
    if (creates === 1) return
    throw missing(
      `create the schema "${schema}" in the database ${database}`,
      `CREATE SCHEMA ${schema} AUTHORIZATION ${role}, or GRANT CREATE ON DATABASE ${database} TO ${role}`,
    )
  }
  if (uses !== 1) {
    throw missing(
      `use the schema "${schema}", which belongs to "${owner}"`,
      `ALTER SCHEMA ${schema} OWNER TO ${role}, or GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`,
    )
  }
  if (reads === 0) {
    throw missing(
      `read the tables of the schema "${schema}", which belong to "${keeper}"`,
      `GRANT ${client.escapeIdentifier(keeper)} TO ${role}`,
    )
  }
}

async function isPresent(client: Client, schema: string): Promise<boolean> {
  // From the catalog itself: to_regnamespace may return a result from before the wait for the lock.
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema])
  return rows.length > 0
}
