import { type Database, DatabaseError, type Sql } from '@mortise/module-sdk'
import type { ModulePackage } from './read-package.ts'

/** The prefix of tables to its owner: a module's id, or `the host`. */
export type TableOwners = ReadonlyMap<string, string>

export const tableOwners = (modules: readonly Pick<ModulePackage, 'manifest'>[]): TableOwners =>
  new Map([
    ['mortise', 'the host'],
    ...modules.flatMap(({ manifest: { id, tables } }) =>
      tables === undefined ? [] : [[tables, id] as const],
    ),
  ])

/** How many composed queries are remembered. */
const COMPOSED = 500

/**
 * The database for one module: a read that names another module's table rejects as `refused`.
 *
 * Steps of transactions are not checked here, because a contract's steps run in the transaction of
 * its user and name its provider's tables. `app module-check` checks those.
 */
export function withOwnTables(database: Database, module: string, owners: TableOwners): Database {
  const bySite = new WeakMap<readonly string[], Error | null>()
  const byText = new Map<string, Error | null>()
  const find = (text: string) => {
    const foreign = foreignTable(text, module, owners)
    if (foreign === undefined) return null
    return new DatabaseError(
      'refused',
      `${module} reads "${foreign.table}", which belongs to ${foreign.owner}: ask ${foreign.owner === 'the host' ? 'it through the context' : 'that module through a contract'}. The statement: ${text.trim()}`,
    )
  }
  const known = ({ strings }: Sql): Error | null => {
    const text = 'raw' in strings ? undefined : strings.join('?')
    const before = text === undefined ? bySite.get(strings) : byText.get(text)
    if (before !== undefined) return before
    const found = find(text ?? strings.join('?'))
    if (text === undefined) bySite.set(strings, found)
    else {
      if (byText.size >= COMPOSED) byText.clear()
      byText.set(text, found)
    }
    return found
  }
  const checked =
    <Result>(read: (query: Sql) => Promise<Result>) =>
    (query: Sql): Promise<Result> => {
      // Anything else is the storage's to refuse.
      const refusal = Array.isArray(query?.strings)
        ? (known(query) ?? (query.postgres && known(query.postgres)))
        : null
      return refusal ? Promise.reject(refusal) : read(query)
    }
  return {
    many: checked(database.many.bind(database)) as Database['many'],
    maybeOne: checked(database.maybeOne.bind(database)) as Database['maybeOne'],
    one: checked(database.one.bind(database)) as Database['one'],
    snapshot: (steps) => database.snapshot(steps),
    transaction: (steps) => database.transaction(steps),
  }
}

const OPAQUE = /--[^\n]*|\/\*[\s\S]*?\*\/|'[^']*'/g
const NAMED = /\b(\w+)\s*(?:\([^()]*\)\s*)?AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/gi
const ONE = /\b(?:JOIN|INTO|UPDATE)\s+"?(\w+)/gi
const LIST = /(?<!\bDISTINCT\s+)\bFROM\s+([\w\s",]+)/gi
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
    ...lists.map((entry) => /\w+/.exec(entry)?.[0] ?? ''),
  ]
  for (const table of tables.map((name) => name.toLowerCase())) {
    if (named.has(table)) continue
    for (const [prefix, owner] of owners) {
      if (owner !== module && (table === prefix || table.startsWith(`${prefix}_`))) return { table, owner }
    }
  }
  return undefined
}
