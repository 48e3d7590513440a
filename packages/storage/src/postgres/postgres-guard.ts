import { Sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { isOwn } from '../migrations/foreign-change.ts'
import { shortened } from '../port/errors.ts'
import { type Guard, type Offence, onlyRows } from '../port/guard.ts'
import { kindOf, loadParser, type Node, nameOf, type Parse } from './parse-sql.ts'
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

/** They act on the sequence that their first argument names. */
const OF_SEQUENCE = new Set(['nextval', 'currval', 'setval'])

/** They look at the relation that their first argument names. */
const OF_RELATION = new Set([
  ...['pg_get_serial_sequence', 'pg_relation_size', 'pg_table_size', 'pg_indexes_size'],
  'pg_total_relation_size',
])

/** They run SQL or read tables that an argument names, and are not volatile. */
const RUNS_SQL = ['crosstab', 'connectby', 'xpath_table']

const isInSchema = (namespace: string) => `${namespace} = to_regnamespace(quote_ident(current_schema()))`
const isOfExtension = (catalog: string, oid: string) =>
  `EXISTS (SELECT 1 FROM pg_depend WHERE classid = '${catalog}'::regclass AND objid = ${oid} AND deptype = 'e')`

/**
 * What may run other statements, or change the session: the catalogue calls such functions volatile;
 * those that return a table as XML, stable. And the functions in the schema, which belong to modules,
 * except for those of an extension.
 */
const FUNCTIONS = `
  SELECT name, here, local, least, most, takes_row AS "takesRow" FROM (
    SELECT proname::text AS name, here, here AND NOT ${isOfExtension('pg_proc', 'p.oid')} AS local,
      (pronargs - pronargdefaults)::int AS least, (CASE WHEN provariadic = 0 THEN pronargs ELSE 100 END)::int AS most,
      EXISTS (SELECT 1 FROM pg_type AS t WHERE t.oid = proargtypes[0] AND typtype IN ('c', 'p')) AS takes_row,
      provolatile = 'v' OR proname LIKE '%\\_to\\_xml%' OR proname = ANY ('{${RUNS_SQL}}') AS acts
    FROM pg_proc AS p, LATERAL (SELECT ${isInSchema('pronamespace')} AS here) AS place
  ) AS found
  WHERE acts OR local`

/**
 * The types that only the schema has. They belong to modules, too, as the row type of a table does.
 * Without a function of that name, a call of it is a cast.
 */
const TYPES = `
  SELECT typname::text AS name, NOT EXISTS (SELECT 1 FROM pg_proc WHERE proname = typname) AS casts FROM pg_type AS t
  WHERE ${isInSchema('typnamespace')} AND typcategory <> 'A' AND NOT ${isOfExtension('pg_type', 't.oid')}
    AND NOT EXISTS (SELECT 1 FROM pg_type AS b WHERE b.typname = t.typname AND b.typnamespace = 'pg_catalog'::regnamespace)`

/** The operators that only the schema has: one belongs to the module of its function. */
const OPERATORS = `
  SELECT oprname::text AS name, proname::text AS "runs" FROM pg_operator AS o JOIN pg_proc AS p ON p.oid = oprcode
  WHERE ${isInSchema('oprnamespace')} AND NOT ${isOfExtension('pg_operator', 'o.oid')}
    AND NOT EXISTS (SELECT 1 FROM pg_operator AS b WHERE b.oprname = o.oprname AND b.oprnamespace <> o.oprnamespace)`

const COLUMNS = `
  SELECT DISTINCT attname::text AS name, relname::text AS "table" FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid
  WHERE ${isInSchema('relnamespace')} AND attnum > 0`

interface KnownFunction {
  readonly name: string
  /** Whether it is in the schema of the application. */
  readonly here: boolean
  /** Whether it was made by a migration. */
  readonly local: boolean
  /** The numbers of arguments that it takes. */
  readonly least: number
  readonly most: number
  /** Whether the first one may be a row of a table. */
  readonly takesRow: boolean
}

/** @param prefix of the module's tables; undefined for a module without tables */
export async function postgresGuard(connections: Connections, prefix: string | undefined): Promise<Guard> {
  const read = async (text: string) => (await connections.read(new Sql([text], []))).rows
  const [parse, functions, types, operators, columns] = await Promise.all([
    loadParser(),
    read(FUNCTIONS),
    read(TYPES),
    read(OPERATORS),
    read(COLUMNS),
  ])
  const known = Map.groupBy(functions as KnownFunction[], ({ name }) => name)
  for (const name of HARMLESS) if (known.get(name)?.every(({ local }) => !local)) known.delete(name)
  const isMine = (name: string) => prefix !== undefined && isOwn(prefix, name)
  return new PostgresGuard(parse, {
    ...{ schema: connections.schema, isMine, functions: known },
    types: new Map(types.filter(({ name }) => !isMine(name)).map(({ name, casts }) => [name, casts])),
    operators: new Map(operators.filter(({ runs }) => !isMine(runs)).map(({ name, runs }) => [name, runs])),
    columns: new Set(columns.filter(({ table }) => isMine(table)).map(({ name }) => name)),
  })
}

interface Owned {
  readonly schema: string
  /** Whether the module owns an object of that name. */
  readonly isMine: (name: string) => boolean
  /** Those that a module may not call, unless they are its own. */
  readonly functions: ReadonlyMap<string, readonly KnownFunction[]>
  /** Those of others, and whether a call of their name is a cast. */
  readonly types: ReadonlyMap<string, unknown>
  /** Those of others, with their function. */
  readonly operators: ReadonlyMap<string, string>
  /** Those of its own tables. */
  readonly columns: ReadonlySet<string>
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
    if (Array.isArray(value))
      return this.#operator(value) ?? firstOf(value, (part) => this.visit(part, scope))
    if (!isNode(value)) return undefined
    if ('relname' in value) return this.#read(value, scope)
    if ('intoClause' in value) return { reason: onlyRows('SELECT INTO') }
    const named = this.#column(value) ?? this.#call(value) ?? this.#type(value)
    if (named !== undefined) return named
    const { withClause, ...fields } = value
    const inner = isNode(withClause) ? scopeOf(withClause, scope) : scope
    const before = isNode(withClause) ? this.#withQueries(withClause, scope, inner) : undefined
    return before ?? firstOf(Object.entries(fields), (field) => this.#field(field, inner))
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
    const { schema, isMine } = this.#owned
    if (schemaname !== undefined && schemaname !== schema) return { table: `${schemaname}.${relname}` }
    return isMine(relname) ? undefined : { table: relname }
  }

  #call({ funcname, args = [] }: Node): Offence | undefined {
    if (funcname === undefined) return undefined
    const { name, schema } = nameOf(funcname)
    const { length, 0: first } = args as readonly unknown[]
    return this.#called(name, first, this.#candidates(name, length), schema)
  }

  /** `note.size` and `(note).size` call size(note) if there is no such column. */
  #column({ fields, indirection, arg }: Node): Offence | undefined {
    const isOnRow = Array.isArray(fields) && fields.length > 1
    const names = isOnRow
      ? fields.slice(-1)
      : arg !== undefined && Array.isArray(indirection)
        ? indirection
        : []
    return firstOf(names, (part) => {
      const name = nameOf([part]).name
      if (this.#owned.columns.has(name)) return undefined
      const found = this.#candidates(name, 1)
      return isOnRow
        ? this.#called(
            name,
            undefined,
            found.filter(({ takesRow }) => takesRow),
          )
        : this.#called(name, arg, found)
    })
  }

  #candidates(name: string, count: number): readonly KnownFunction[] {
    const all = this.#owned.functions.get(name) ?? []
    return all.filter(({ least, most }) => least <= count && count <= most)
  }

  #called(
    name: string,
    first: unknown,
    found: readonly KnownFunction[],
    named?: string,
  ): Offence | undefined {
    const { schema, isMine, types } = this.#owned
    if (first !== undefined && (OF_SEQUENCE.has(name) || OF_RELATION.has(name)))
      return this.#argument(name, first)
    if (found.some(({ here, local }) => !local && (here || named !== schema)))
      return { reason: `calls ${name}(), which may run other statements or change the session: leave it out` }
    const isOthers = found.some(({ local }) => local) || (first !== undefined && types.get(name))
    return isOthers && !isMine(name) ? { table: name } : undefined
  }

  /** A cast runs the functions of its type. */
  #type({ names, typemod }: Node): Offence | undefined {
    if (!Array.isArray(names) || typemod === undefined) return undefined
    const { name, schema } = nameOf(names)
    const isHere = schema === undefined || schema === this.#owned.schema
    return isHere && this.#owned.types.has(name) ? { table: name } : undefined
  }

  #operator(names: readonly unknown[]): Offence | undefined {
    const last = names.at(-1)
    const runs = isNode(last) && 'String' in last ? this.#owned.operators.get(nameOf([last]).name) : undefined
    return runs === undefined ? undefined : { table: runs }
  }

  /** The relation that a text names. That of a sequence must be written there. */
  #argument(name: string, value: unknown): Offence | undefined {
    const [kind, node] = isNode(value) ? kindOf(value) : []
    if (kind === 'TypeCast') return this.#argument(name, node?.arg)
    // This call is judged itself.
    if (kind === 'FuncCall' && nameOf(node?.funcname).name === 'pg_get_serial_sequence') return undefined
    const text = isNode(node?.sval) ? node.sval.sval : undefined
    const unknown = { reason: `calls ${name}() with a name that is not written there: write it as a text` }
    const otherwise = OF_SEQUENCE.has(name) ? unknown : undefined
    if (typeof text !== 'string') return otherwise
    try {
      return this.visit(this.#parse(`TABLE ${text}`), none)
    } catch {
      return otherwise
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
