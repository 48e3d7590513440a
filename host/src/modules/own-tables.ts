import type { Database, ReadOptions, Sql } from '@mortise/module-sdk'
import { type Guard, StatementCheck } from '@mortise/storage'

/** The prefix of tables to its owner: a module's id, or `the host`. */
export type TableOwners = ReadonlyMap<string, string>

/** Refuses the statements of a module that name tables of others, or do more than read and write rows. */
export const ownTables = (module: string, guard: Guard, owners: TableOwners) =>
  new StatementCheck((query) => {
    const offence = guard.offence(query)
    if (offence === undefined) return ''
    const what = 'table' in offence ? `names ${foreign(offence.table, owners)}` : offence.reason
    return `${module} ${what}. The statement: ${query.strings.join('?').trim()}`
  }, guard.form)

function foreign(table: string, owners: TableOwners): string {
  for (const [prefix, owner] of owners) {
    if (table !== prefix && !table.startsWith(`${prefix}_`)) continue
    const remedy = owner === 'the host' ? 'ask it through the context' : 'ask that module through a contract'
    return `"${table}", which belongs to ${owner}: ${remedy}`
  }
  return `"${table}", which is no table of its own: use names that begin with its manifest's "tables"`
}

/** The database for the code that `check` is about. */
export function checkedDatabase(database: Database, check: StatementCheck): Database {
  const checked =
    <Result>(read: (query: Sql, options?: ReadOptions) => Promise<Result>) =>
    (query: Sql, options?: ReadOptions): Promise<Result> => {
      const refusal = check.refusal(query)
      return refusal ? Promise.reject(refusal) : read(query, options)
    }
  return {
    many: checked(database.many.bind(database)) as Database['many'],
    maybeOne: checked(database.maybeOne.bind(database)) as Database['maybeOne'],
    one: checked(database.one.bind(database)) as Database['one'],
    snapshot: (steps, options) => database.snapshot(check.of(steps), options),
    transaction: (steps) => database.transaction(check.of(steps)),
  }
}

/**
 * A contract for the module of `user`: its steps are its provider's, and those of functions that it
 * is given are the user's.
 */
export function checked<Contract>(
  contract: Contract,
  provider: StatementCheck,
  user: StatementCheck,
): Contract {
  const made = new WeakMap<object, unknown>()
  const check = (value: unknown) => {
    if (typeof value !== 'function') return value
    if (!made.has(value)) {
      const steps = provider.of(value)
      made.set(value, (...given: unknown[]) =>
        steps.apply(
          contract,
          given.map((one) => user.of(one)),
        ),
      )
    }
    return made.get(value)
  }
  if (typeof contract !== 'object' || contract === null) return check(contract) as Contract
  return new Proxy({ ...contract }, { get: (_, name) => check(Reflect.get(contract, name)) })
}
