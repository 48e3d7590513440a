import type { Client } from 'pg'
import { toCommitError, toDatabaseError } from './database-error.ts'
import { prepareLedger, type Query } from './ledger.ts'

/** Runs SQL on a connection. @throws {DatabaseError} */
export const queryOn =
  (client: Client): Query =>
  async (text, values) => {
    try {
      return await client.query(text, values)
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
    await prepareLedger(query)
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
