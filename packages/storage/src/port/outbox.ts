import type { Sql, Statement, Step, Transaction } from '@mortise/module-sdk'
import type { Engine } from './storage.ts'

/** Rows that transactions write by steps that are no statements, and that get positions in the order of their commits. */
export interface Outbox {
  /** What writes the row of such a step; undefined for what is none. @throws {Error} which the transaction hears */
  insertion(step: Step): Sql | undefined
  /** Finds a row that was committed without a position, if there is any. */
  readonly unplaced: Sql
  /** Gives some of those the next positions. Not for a serializable transaction, which every writing one would conflict with. */
  place(engine: Engine): Transaction<unknown>
  /** Where `place` tells others on PostgreSQL that there are new positions, with the name of their schema. */
  readonly channel: string
}

/** What is yielded by mistake is no step at all: then it has no query. */
export const asStatement = (step: Step): Statement => (step ?? {}) as Statement

/** Reads the steps of transactions as statements. */
export class StepReader {
  readonly #outbox: Outbox | undefined
  /** Whether a step has written to the outbox since this was last set to false. */
  wrote = false

  constructor(outbox: Outbox | undefined) {
    this.#outbox = outbox
  }

  /** The statement that a step stands for. */
  read(step: Step): Statement {
    const statement = asStatement(step)
    if (statement.query !== undefined) return statement
    const query = this.#outbox?.insertion(statement as Step)
    if (query === undefined) return statement
    this.wrote = true
    return { query, want: 'changes' }
  }
}
