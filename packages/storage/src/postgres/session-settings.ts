import type { Client, QueryArrayResult } from 'pg'
import { StorageUnfitError } from '../port/errors.ts'

/** Session settings by name, with values as the server shows them. */
export type SessionSettings = Readonly<Record<string, string>>

/**
 * What correct results, and what was acknowledged, rest on, whatever the defaults of server, database
 * and role are. Settings that only newer servers have may be here too.
 */
export const GUARDS: SessionSettings = {
  // A commit is on the disk.
  synchronous_commit: 'on',
  // Those of BEGIN without a mode, and of single statements.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // Values as text, and back.
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  transform_null_equals: 'off',
  // Rows that a policy hides are an error.
  row_security: 'off',
  // Nothing ends by time unless we set it.
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
}

/** What only a superuser may set. `replica` checks no foreign key. */
const REQUIRED: SessionSettings = { session_replication_role: 'origin' }

/** A session that has begun. */
export interface Begun {
  /** The process of the server; several clients may see the same one behind a pooler. */
  readonly backend: number
  /** Whether a pooler is in between: it then gives keys for cancelling of its own. */
  readonly isPooled: boolean
  /** Whether server, database or role make new sessions read-only. */
  readonly isReadOnly: boolean
}

const POOLED = 'Connect directly, or through a pooler in session mode'

/**
 * Makes the settings, and reads them back: a pooler may drop them, or run each transaction on another
 * session. Sent together, in one round trip, but not as one transaction.
 *
 * @param timeout for each response, in milliseconds
 * @throws {StorageUnfitError} if the server shows other values
 * @throws {Error} for a standby: it accepts no writes, and its data may be stale
 */
export async function beginSession(
  client: Client,
  settings: SessionSettings,
  timeout: number,
): Promise<Begun> {
  const ask = (text: string) =>
    client.query({ text, query_timeout: timeout, rowMode: 'array' } as never) as unknown as Promise<
      QueryArrayResult<[...unknown[]]>
    >
  const text = (value: string) => client.escapeLiteral(value)
  const all = { ...GUARDS, ...settings }
  const shown = Object.entries({ ...all, ...REQUIRED })
  const [, state, , found] = await Promise.all([
    // A pooler may hand on a session with settings of its previous client.
    ask('RESET default_transaction_read_only'),
    ask(
      `SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'`,
    ),
    ask(
      `SELECT ${Object.entries(all)
        .map(
          ([name, value]) =>
            `CASE WHEN current_setting('${name}', true) IS NOT NULL THEN set_config('${name}', ${text(value)}, false) END`,
        )
        .join()}`,
    ),
    ask(`SELECT ${shown.map(([name]) => `current_setting('${name}', true)`).join()}`),
  ])
  const [backend, isStandby, isReadOnly] = state.rows[0] as [number, number, number]
  if (isStandby === 1) throw new Error('it is a read-only standby: use the primary')
  const values = found.rows[0] as (string | null)[]
  const at = shown.findIndex(([, value], index) => values[index] !== null && values[index] !== value)
  if (at >= 0) throw differs(shown[at] as [string, string], values[at] as string)
  const { processID } = client as unknown as { readonly processID: number | null }
  return { backend, isPooled: processID !== backend, isReadOnly: isReadOnly === 1 }
}

function differs([name, value]: [string, string], found: string): StorageUnfitError {
  const advice =
    name in REQUIRED
      ? `set it for this role: ALTER ROLE … SET ${name} = ${value}`
      : `something between this host and the server drops or changes settings. ${POOLED}`
  return new StorageUnfitError(`the session setting ${name} is "${found}" instead of "${value}": ${advice}`)
}

/** Two clients had the same session at once. */
export const sharedSession = () =>
  new StorageUnfitError(
    'a pooler shares a session of the server between clients (transaction or statement mode), so settings, locks and notifications are lost. ' +
      `${POOLED} (PgBouncer: pool_mode = session; many providers offer it on another port)`,
  )
