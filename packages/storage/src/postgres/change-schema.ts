import { DatabaseError, Sql } from '@mortise/module-sdk'
import type { Client, QueryResult } from 'pg'
import type { SchemaStep, SchemaSteps } from '../migrations/dialect.ts'
import * as migrations from '../migrations/ledger.ts'
import { driveAsync } from '../port/drive.ts'
import { toCommitError, toDatabaseError } from './database-error.ts'
import { dialect, type PostgresLedgerEntry } from './dialect.ts'
import { bind } from './statement-texts.ts'

/** Runs SQL with the values of its placeholders. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<QueryResult>

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

/**
 * Does `work` in one transaction, alone among all hosts of the application: all of it, or nothing.
 * @throws {DatabaseError} `busy` where another host is at it, or where a table is in use for long: nothing has happened
 */
export async function changeSchema<Result>(
  client: Client,
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  const query = queryOn(client)
  await query('BEGIN')
  let result: Result
  try {
    // A host that is stopped in the midst of it keeps the others out for less than they wait.
    await query(`SET LOCAL idle_in_transaction_session_timeout = '30s'`)
    // Another host may have much to do; a table that is in use makes others wait as well.
    await query(`SET LOCAL lock_timeout = '60s'`)
    await query(`SELECT pg_advisory_xact_lock(hashtextextended('mortise ' || current_schema(), 0))`)
    await query(`SET LOCAL lock_timeout = '3s'`)
    result = await work(query)
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
  try {
    await client.query('COMMIT')
  } catch (error) {
    throw toCommitError(error)
  }
  return result
}

/** Takes steps in the transaction that is open; without one each is by itself. */
export const runSteps = <Result>(query: Query, steps: SchemaSteps<Result>): Promise<Result> =>
  driveAsync(
    steps,
    (step) => take(query, step),
    (error) => error instanceof DatabaseError && (error.kind === 'busy' || error.kind === 'unavailable'),
  )

async function take(query: Query, step: SchemaStep): Promise<unknown> {
  if (typeof step === 'function') return step()
  if (!(step instanceof Sql)) return query(step)
  const { text, values } = bind(step)
  return (await query(text, values)).rows
}

export const readLedger = (query: Query): Promise<PostgresLedgerEntry[]> =>
  runSteps(query, migrations.readLedger(dialect))
