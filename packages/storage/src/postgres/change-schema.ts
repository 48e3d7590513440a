import { Sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client, QueryResult } from 'pg'
import type { SchemaStep, SchemaSteps } from '../migrations/dialect.ts'
import * as migrations from '../migrations/ledger.ts'
import { StorageUnfitError } from '../port/errors.ts'
import { driveAsync } from '../port/steps.ts'
import { DeniedError, toCommitError, toDatabaseError } from './database-error.ts'
import { dialect, type PostgresLedgerEntry } from './dialect.ts'
import { bind } from './statement-texts.ts'

/** Runs SQL with the values of its placeholders. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Pick<QueryResult, 'rows'>>

/** Runs SQL on a connection. @throws {DatabaseError} */
export const queryOn =
  (client: Client): Query =>
  async (text, values) => {
    try {
      return await client.query(text, values as unknown[])
    } catch (error) {
      throw toDatabaseError(error, text)
    }
  }

/** Why writes are refused while the server makes new sessions read-only. */
export const READ_ONLY =
  'PostgreSQL makes new sessions read-only (default_transaction_read_only), as providers do while its disk is full'

/** For reads of one moment, while others write. */
export const SNAPSHOT = 'ISOLATION LEVEL REPEATABLE READ READ ONLY'

/**
 * Runs `work` in one transaction: all or nothing.
 * @param mode the text after BEGIN
 */
export async function inTransaction<Result>(
  client: Client,
  mode: string,
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  const query = queryOn(client)
  const rollBack = () => client.query('ROLLBACK').catch(() => {})
  await query(`BEGIN ${mode}`)
  let result: Result
  try {
    result = await work(query)
  } catch (error) {
    await rollBack()
    throw error
  }
  try {
    // What was read is valid even if the connection breaks now.
    await (mode === SNAPSHOT ? rollBack() : client.query('COMMIT'))
  } catch (error) {
    throw toCommitError(error)
  }
  return result
}

/**
 * Runs `work` in one transaction, alone among all hosts of the application.
 * @param schema if it may be missing; the schema of the session otherwise
 * @throws {StorageUnfitError} if the role lacks a right
 * @throws {DatabaseError} `busy` if another host changes the schema, or a table stays in use for
 * long: nothing has happened
 */
export function changeSchema<Result>(
  client: Client,
  work: (query: Query) => Promise<Result>,
  schema?: string,
): Promise<Result> {
  return inTransaction(client, '', async (query) => {
    await assertWritable(query)
    // If a host stops in the middle, it blocks the others for less time than they wait.
    await query(`SET LOCAL idle_in_transaction_session_timeout = '30s'`)
    // Another host may have much work; waiting for a table in use blocks others as well.
    await query(`SET LOCAL lock_timeout = '30s'`)
    await query(
      `SELECT pg_advisory_xact_lock(hashtextextended('mortise ' || coalesce($1, current_schema()), 0))`,
      [schema],
    )
    await query(`SET LOCAL lock_timeout = '3s'`)
    return await work(query)
  }).catch((error) => {
    if (!(error instanceof DeniedError)) throw error
    // Not a fault of the migration.
    throw new StorageUnfitError(`${error.message}: ${OWNER}`, { cause: error })
  })
}

const OWNER =
  'the role must own the schema and its tables (ALTER SCHEMA … OWNER TO …, REASSIGN OWNED BY … TO …), or be granted that right'

/** The default of the server, the database or the role counts. @throws {DatabaseError} `full` */
async function assertWritable(query: Query): Promise<void> {
  const { rows } = await query(`SELECT current_setting('transaction_read_only') AS value`)
  if (rows[0].value === 'on') throw new DatabaseError('full', READ_ONLY)
}

/** Runs steps in the open transaction; without one each step commits by itself. */
export const runSteps = <Result>(query: Query, steps: SchemaSteps<Result>): Promise<Result> =>
  driveAsync(
    () => steps,
    (step) => take(query, step),
    (error) =>
      error instanceof DeniedError ||
      (error instanceof DatabaseError && (error.kind === 'busy' || error.kind === 'unavailable')),
  )

async function take(query: Query, step: SchemaStep): Promise<unknown> {
  if (typeof step === 'function') return step()
  if (!(step instanceof Sql)) return query(step)
  const { text, values } = bind(step)
  return (await query(text, values)).rows
}

export const readLedger = (query: Query): Promise<PostgresLedgerEntry[]> =>
  runSteps(query, migrations.readLedger(dialect))
