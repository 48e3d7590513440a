import type { Sql, Statement, Step, Transaction } from '@mortise/module-sdk'
import type { Engine } from './storage.ts'

/**
 * Rows that transactions write by special steps, and that get positions in the order of their
 * commits.
 */
export interface Outbox {
  /**
   * The statement that writes the row of such a step; undefined for other steps.
   * @throws {Error} into the transaction
   */
  insertion(step: Step): Sql | undefined
  /** Finds one committed row without a position, if any. */
  readonly unplaced: Sql
  /**
   * Gives some of those rows the next positions. Must not run in a serializable transaction, which
   * would conflict with every writing one.
   */
  place(engine: Engine): Transaction<unknown>
  /**
   * The channel on which `place` announces new positions on PostgreSQL, with the name of their
   * schema.
   */
  readonly channel: string
}

/** A value yielded by mistake has no query. */
export const asStatement = (step: Step): Statement => (step ?? {}) as Statement

/** Converts the steps of transactions to statements. */
export class StepReader {
  readonly #outbox: Outbox | undefined
  /** A step has written to the outbox since this was last set to false. */
  wrote = false

  constructor(outbox: Outbox | undefined) {
    this.#outbox = outbox
  }

  /** The statement of a step. */
  read(step: Step): Statement {
    const statement = asStatement(step)
    if (statement.query !== undefined) return statement
    const query = this.#outbox?.insertion(statement as Step)
    if (query === undefined) return statement
    this.wrote = true
    return { query, want: 'changes' }
  }
}
