import { DatabaseSync } from 'node:sqlite'
import type { SqlValue, Statement, Step, Transaction } from '../src/index.ts'

/** Runs transaction steps on a database in memory: no host, no durability, one transaction at a time. */
export function sqliteDriver(schema: string) {
  const database = new DatabaseSync(':memory:')
  database.exec(schema)

  function perform(step: Step) {
    const { query, want } = step as Statement
    const text = query.strings.join('?')
    // For PostgreSQL alone: see `byEngine`.
    if (text === '') return 0
    const statement = database.prepare(text)
    const values = query.values as Exclude<SqlValue, undefined>[]
    return want === 'rows' ? statement.all(...values) : Number(statement.run(...values).changes)
  }

  return {
    /** What `steps` returns; what they throw undoes them and is thrown. */
    transaction<Result>(steps: () => Transaction<Result>): Result {
      database.exec('BEGIN')
      try {
        const generator = steps()
        let next = generator.next()
        while (!next.done) next = generator.next(perform(next.value))
        database.exec('COMMIT')
        return next.value
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },
    close: () => database.close(),
  }
}
