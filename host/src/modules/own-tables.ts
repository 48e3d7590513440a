import type { Database, ReadOptions, Sql } from '@mortise/module-sdk'
import { StatementCheck } from '@mortise/storage'

/** The prefix of tables to its owner: a module's id, or `the host`. */
export type TableOwners = ReadonlyMap<string, string>

/** Refuses the statements of a module that name tables of others. */
export const ownTables = (module: string, owners: TableOwners) =>
  new StatementCheck((text) => {
    const foreign = foreignTable(text, module, owners)
    if (foreign === undefined) return ''
    const remedy =
      foreign.owner === 'the host' ? 'ask it through the context' : 'ask that module through a contract'
    return `${module} names "${foreign.table}", which belongs to ${foreign.owner}: ${remedy}. The statement: ${text.trim()}`
  })

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

const OPAQUE = /--[^\n]*|\/\*[\s\S]*?\*\/|'[^']*'/g
const NAMED = /\b(\w+)\s*(?:\([^()]*\)\s*)?AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/gi
const ONE = /\b(?:JOIN|INTO|UPDATE|USING|TRUNCATE)\s+(?:(?:ONLY|TABLE|OR\s+\w+)\s+)?(?:\w+\.)?"?(\w+)/gi
/** Not the FROM of `IS DISTINCT FROM` and `extract(year FROM …)`. */
const LIST = /(?<!\bDISTINCT\s+|\(\s*(?!DELETE)\w+\s+)\bFROM\s+\(*([\w\s",.]+)/gi
const NAME = /(?:\bONLY\s+)?(?:\w+\.)?"?(\w+)/i
const AFTER_LIST =
  /\b(?:WHERE|ORDER|GROUP|HAVING|LIMIT|UNION|EXCEPT|INTERSECT|ON|USING|JOIN|RETURNING|FOR|SET)\b[\s\S]*/i

/** The first table of a statement that another one owns. A column may have any name. */
export function foreignTable(
  text: string,
  module: string,
  owners: TableOwners,
): { readonly table: string; readonly owner: string } | undefined {
  const bare = text.replace(OPAQUE, ' ')
  const named = new Set(Array.from(bare.matchAll(NAMED), ([, name = '']) => name.toLowerCase()))
  const lists = Array.from(bare.matchAll(LIST), ([, list = '']) =>
    list.replace(AFTER_LIST, '').split(','),
  ).flat()
  const tables = [
    ...Array.from(bare.matchAll(ONE), ([, name = '']) => name),
    ...lists.map((entry) => NAME.exec(entry)?.[1] ?? ''),
  ]
  for (const table of tables.map((name) => name.toLowerCase())) {
    if (named.has(table)) continue
    for (const [prefix, owner] of owners) {
      if (owner !== module && (table === prefix || table.startsWith(`${prefix}_`))) return { table, owner }
    }
  }
  return undefined
}
