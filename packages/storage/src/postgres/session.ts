import { DatabaseError, type SqlValue, type Statement } from '@mortise/module-sdk'
import type { ClientBase, QueryResult } from 'pg'
import { toBeginError, toCommitError, toDatabaseError } from './database-error.ts'
import type { BoundStatement, StatementTexts } from './statement-texts.ts'

/** The class of SQLSTATE that warnings are of; notices are of class 00. */
const WARNING = '01'

/**
 * One transaction on a connection that is this one's alone. Outside of BEGIN … COMMIT the connection refuses to write,
 * so nothing is ever committed by the way: BEGIN goes out together with the first statement, unanswered.
 */
export class Session {
  readonly #client: ClientBase
  readonly #statements: StatementTexts
  #begun: Promise<unknown> | undefined

  constructor(client: ClientBase, statements: StatementTexts) {
    this.#client = client
    this.#statements = statements
  }

  /** @param mode what stands after BEGIN */
  begin(mode: string): void {
    this.#begun = this.#client.query(`BEGIN ${mode}`)
    // Looked at by `commit`; the statements after it fail as well.
    this.#begun.catch(() => {})
  }

  /** Runs one statement of the transaction. One without rows that is asked for rows answers none. */
  async execute({ query: wanted, want }: Statement): Promise<unknown> {
    const statement = this.#statements.get(wanted)
    try {
      return answerOf(want, await query(this.#client, statement))
    } catch (error) {
      // Without its BEGIN a statement fails for other reasons than its own.
      await this.#assertBegun()
      throw error
    }
  }

  /** Like `execute`; where the statement fails, the transaction is as it was before it, and can go on. */
  async executeInSavepoint({ query: wanted, want }: Statement): Promise<unknown> {
    const statement = this.#statements.get(wanted)
    const [saved, answered, released] = await Promise.allSettled([
      this.#client.query('SAVEPOINT step'),
      query(this.#client, statement),
      this.#client.query('RELEASE step'),
    ])
    if (saved.status === 'rejected') {
      await this.#assertBegun()
      throw toDatabaseError(saved.reason, 'SAVEPOINT')
    }
    if (answered.status === 'fulfilled') {
      if (released.status === 'fulfilled') return answerOf(want, answered.value)
      throw toDatabaseError(released.reason, 'RELEASE')
    }
    try {
      await this.#client.query('ROLLBACK TO step')
      await this.#client.query('RELEASE step')
    } catch (error) {
      throw toDatabaseError(error, 'ROLLBACK TO')
    }
    throw answered.reason
  }

  /** Ends a transaction that has only read. */
  async finish(): Promise<void> {
    await this.#assertBegun()
    // What was read is right, whatever becomes of the connection.
    await this.rollback()
  }

  /** @throws {DatabaseError} `unknown-outcome` where the connection broke, or no synchronous standby has it */
  async commit(): Promise<void> {
    await this.#assertBegun()
    let result: QueryResult
    let warning: string | undefined
    const onNotice = ({
      code,
      message,
    }: {
      readonly code?: string | undefined
      readonly message?: string | undefined
    }) => {
      if (code?.startsWith(WARNING)) warning = message
    }
    this.#client.on('notice', onNotice)
    try {
      result = await this.#client.query('COMMIT')
    } catch (error) {
      throw toCommitError(error)
    } finally {
      this.#client.off('notice', onNotice)
    }
    // Where somebody cancels the wait for a synchronous standby, COMMIT succeeds, with a warning.
    if (warning !== undefined) {
      throw new DatabaseError('unknown-outcome', `committed, but a failover may lose it: ${warning}`)
    }
    // A transaction in which something has failed is rolled back by COMMIT, without an error.
    if (result.command !== 'COMMIT') {
      throw new DatabaseError(
        'other',
        `the transaction was not committed: the server answered ${result.command}`,
      )
    }
  }

  async #assertBegun(): Promise<void> {
    try {
      await this.#begun
    } catch (error) {
      throw toBeginError(error)
    }
  }

  /** @returns whether the connection can be used again */
  async rollback(): Promise<boolean> {
    if (this.#begun === undefined) return true
    try {
      await this.#client.query('ROLLBACK')
      return true
    } catch {
      return false
    }
  }
}

/** @throws {DatabaseError} */
export async function query(client: ClientBase, { statement, values }: BoundStatement): Promise<QueryResult> {
  try {
    return await client.query({ ...statement, values: values as SqlValue[] })
  } catch (error) {
    throw toDatabaseError(error, statement.text)
  }
}

function answerOf(want: Statement['want'], { rows, rowCount, command }: QueryResult): unknown {
  if (want === 'rows') return rows
  return command === 'SELECT' ? 0 : (rowCount ?? 0)
}
