import type { SqlValue } from '@mortise/module-sdk/sql'
import { DatabaseError, type Statement } from '@mortise/module-sdk/transaction'
import type { ClientBase, QueryResult } from 'pg'
import { toBeginError, toCommitError, toDatabaseError } from './database-error.ts'
import type { BoundStatement, StatementTexts } from './statement-texts.ts'

/** The SQLSTATE class of warnings; notices have class 00. */
const WARNING = '01'

/**
 * One transaction on a connection for exclusive use. Outside of BEGIN … COMMIT the connection
 * refuses writes, so no write commits by accident: BEGIN is sent together with the first statement,
 * without a wait for its response.
 */
export class Session {
  readonly #client: ClientBase
  readonly #statements: StatementTexts
  #begun: Promise<unknown> | undefined

  constructor(client: ClientBase, statements: StatementTexts) {
    this.#client = client
    this.#statements = statements
  }

  /** @param mode the text after BEGIN */
  begin(mode: string): void {
    this.#begun = this.#client.query(`BEGIN ${mode}`)
    // `commit` checks it; the statements after it fail as well.
    this.#begun.catch(() => {})
  }

  /** Runs one statement of the transaction. A statement without rows returns none. */
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

  /** Like `execute`, but a failed statement leaves the transaction as it was, and usable. */
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
    // The results are valid even if the connection breaks now.
    await this.rollback()
  }

  /** @throws {DatabaseError} `unknown-outcome` if the connection broke, or no standby confirmed */
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
    // If the wait for a synchronous standby is cancelled, COMMIT succeeds with a warning.
    if (warning !== undefined) {
      throw new DatabaseError('unknown-outcome', `committed, but a failover may lose it: ${warning}`)
    }
    // After an error in the transaction COMMIT rolls back without an error.
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
