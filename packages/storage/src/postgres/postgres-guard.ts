import { type Sql, sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { isOwn } from '../migrations/foreign-change.ts'
import { shortened } from '../port/errors.ts'
import { type Guard, type Offence, onlyRows } from '../port/guard.ts'
import { findNode, kindOf, loadParser, type Node, nameOf, type Parse } from './parse-sql.ts'
import type { Connections } from './postgres-connections.ts'

const ROWS = new Set(['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'])

/** Volatile functions that only return something, or lock for the transaction. */
const HARMLESS = [
  ...['random', 'random_normal', 'gen_random_uuid', 'uuidv4', 'uuidv7', 'clock_timestamp', 'timeofday'],
  ...['array_sample', 'array_shuffle', 'gen_random_bytes', 'gen_salt', 'pgp_sym_encrypt', 'pgp_pub_encrypt'],
  ...['uuid_generate_v4', 'uuid_generate_v1', 'uuid_generate_v1mc', 'pg_database_size', 'pg_is_in_recovery'],
  ...['pg_advisory_xact_lock', 'pg_advisory_xact_lock_shared', 'pg_try_advisory_xact_lock'],
  'pg_try_advisory_xact_lock_shared',
]

/** They act on the table or sequence that their first argument names. */
const BY_NAME = new Set([
  ...['nextval', 'currval', 'setval', 'pg_get_serial_sequence'],
  ...['pg_relation_size', 'pg_table_size', 'pg_indexes_size', 'pg_total_relation_size'],
])

/** They run SQL or read tables that an argument names, and are not volatile. */
const RUNS_SQL = ['crosstab', 'connectby', 'xpath_table']

/**
 * What may run other statements, or change the session: the catalogue calls such functions volatile;
 * those that return a table as XML, stable. And the functions in the schema, which belong to modules,
 * except for those of an extension.
 */
const functions = sql`
  SELECT name, here, local, least, most FROM (
    SELECT proname::text AS name, here, here AND NOT EXISTS (
        SELECT 1 FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e') AS local,
      (pronargs - pronargdefaults)::int AS least, (CASE WHEN provariadic = 0 THEN pronargs ELSE 100 END)::int AS most,
      provolatile = 'v' OR proname LIKE '%\\_to\\_xml%' OR proname = ANY (${JSON.stringify(RUNS_SQL).replace('[', '{').replace(']', '}')}::text[]) AS acts
    FROM pg_proc AS p, LATERAL (SELECT pronamespace = to_regnamespace(quote_ident(current_schema())) AS here) AS place
  ) AS found
  WHERE acts OR local`

interface KnownFunction {
  readonly name: string
  /** Whether it is in the schema of the application. */
  readonly here: boolean
  /** Whether it was made by a migration. */
  readonly local: boolean
  /** The numbers of arguments that it takes. */
  readonly least: number
  readonly most: number
}

/** @param prefix of the module's tables; undefined for a module without tables */
export async function postgresGuard(connections: Connections, prefix: string | undefined): Promise<Guard> {
  const [parse, { rows }] = await Promise.all([loadParser(), connections.read(functions)])
  const known = Map.groupBy(rows as KnownFunction[], ({ name }) => name)
  for (const name of HARMLESS) if (known.get(name)?.every(({ local }) => !local)) known.delete(name)
  return new PostgresGuard(parse, { schema: connections.schema, prefix, functions: known })
}

interface Owned {
  readonly schema: string
  readonly prefix: string | undefined
  /** Those that a module may not call, unless they are its own. */
  readonly functions: ReadonlyMap<string, readonly KnownFunction[]>
}

class PostgresGuard implements Guard {
  readonly #parse: Parse
  readonly #owned: Owned

  constructor(parse: Parse, owned: Owned) {
    this.#parse = parse
    this.#owned = owned
  }

  form(query: Sql): Sql {
    return query.postgres ?? query
  }

  offence({ strings }: Sql): Offence | undefined {
    const text = strings.reduce((before, after, index) => `${before}$${index}${after}`)
    let statements: Node[]
    try {
      statements = this.#parse(text)
    } catch (error) {
      throw new DatabaseError('other', `${(error as Error).message} (42601), in: ${shortened(text)}`, {
        cause: error,
      })
    }
    for (const statement of statements) {
      const [kind, node] = kindOf(statement)
      if (!ROWS.has(kind)) return { reason: onlyRows(kind.replace('Stmt', '')) }
      const offence = new Search(this.#owned, this.#parse).visit(node, none)
      if (offence !== undefined) return offence
    }
    return undefined
  }
}

/** The names of the common table expressions that a part of a statement sees. */
type Scope = ReadonlySet<string>
const none: Scope = new Set()

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Looks for what a statement may not name. */
class Search {
  readonly #owned: Owned
  readonly #parse: Parse

  constructor(owned: Owned, parse: Parse) {
    this.#owned = owned
    this.#parse = parse
  }

  visit(value: unknown, scope: Scope): Offence | undefined {
    if (Array.isArray(value)) return firstOf(value, (part) => this.visit(part, scope))
    if (!isNode(value)) return undefined
    if ('relname' in value) return this.#read(value, scope)
    if ('intoClause' in value) return { reason: onlyRows('SELECT INTO') }
    const called = 'funcname' in value ? this.#call(value) : undefined
    if (called !== undefined) return called
    const { withClause, ...fields } = value
    const inner = isNode(withClause) ? scopeOf(withClause, scope) : scope
    const named = isNode(withClause) ? this.#withQueries(withClause, scope, inner) : undefined
    return named ?? firstOf(Object.entries(fields), (field) => this.#field(field, inner))
  }

  #field([name, part]: readonly [string, unknown], scope: Scope): Offence | undefined {
    // Names of this statement, also those of aliases.
    if (name === 'lockedRels') return undefined
    if (name === 'relation' && isNode(part) && 'relname' in part) return this.#write(part)
    return this.visit(part, scope)
  }

  /** Without RECURSIVE a query sees those before it: its own name is that of a table there. */
  #withQueries(clause: Node, outer: Scope, inner: Scope): Offence | undefined {
    const seen = new Set(outer)
    return firstOf(queriesOf(clause), ({ ctename, ...query }) => {
      const offence = this.visit(query, clause.recursive === true ? inner : new Set(seen))
      seen.add(ctename as string)
      return offence
    })
  }

  #read(relation: Node, scope: Scope): Offence | undefined {
    const { relname, schemaname } = relation as { relname: string; schemaname?: string }
    if (schemaname === undefined && scope.has(relname)) return undefined
    return isOfCatalog(relname, schemaname) ? undefined : this.#write(relation)
  }

  /** No common table expression can be written to. */
  #write(relation: Node): Offence | undefined {
    const { relname, schemaname } = relation as { relname: string; schemaname?: string }
    const { schema, prefix } = this.#owned
    if (schemaname !== undefined && schemaname !== schema) return { table: `${schemaname}.${relname}` }
    return prefix !== undefined && isOwn(prefix, relname) ? undefined : { table: relname }
  }

  #call({ funcname, args = [] }: Node): Offence | undefined {
    const { functions, schema, prefix } = this.#owned
    const { name, schema: named } = nameOf(funcname)
    const [first] = args as readonly unknown[]
    if (BY_NAME.has(name)) return this.#argument(first)
    const count = (args as readonly unknown[]).length
    const known = (functions.get(name) ?? []).filter(({ least, most }) => least <= count && count <= most)
    if (known.some(({ here, local }) => !local && (here || named !== schema)))
      return { reason: `calls ${name}(), which may run other statements or change the session: leave it out` }
    const isOthers = known.some(({ local }) => local) && !(prefix !== undefined && isOwn(prefix, name))
    return isOthers ? { table: name } : undefined
  }

  /** The relation that a text names, if it is a constant. */
  #argument(value: unknown): Offence | undefined {
    const text = findNode(value, (node) => typeof node.sval === 'string')?.sval
    if (typeof text !== 'string') return undefined
    try {
      return this.visit(this.#parse(`TABLE ${text}`), none)
    } catch {
      return undefined
    }
  }
}

function firstOf<Part>(
  parts: readonly Part[],
  visit: (part: Part) => Offence | undefined,
): Offence | undefined {
  for (const part of parts) {
    const offence = visit(part)
    if (offence !== undefined) return offence
  }
  return undefined
}

const queriesOf = ({ ctes }: Node) =>
  (ctes as readonly { readonly CommonTableExpr: Node }[]).map(({ CommonTableExpr: query }) => query)

const scopeOf = (clause: Node, outer: Scope): Scope =>
  new Set([...outer, ...queriesOf(clause).map(({ ctename }) => ctename as string)])

const isOfCatalog = (name: string, schema: string | undefined) =>
  schema === undefined ? name.startsWith('pg_') : schema === 'pg_catalog' || schema === 'information_schema'
