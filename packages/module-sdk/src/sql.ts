/**
 * SQL as values. A query is written once and runs on every storage engine, which adds its own
 * placeholders (`?`, `$1`). Values are always bound, never part of the text. Portable values are
 * TEXT (string without NUL), BIGINT and INTEGER (safe integer or bigint), BYTEA (bytes, read as a
 * Buffer) and NULL. Booleans are INTEGER 0/1, times are epoch milliseconds, JSON is TEXT.
 */
export type SqlValue = string | number | bigint | Uint8Array | null

/** The most bytes of one value: more would hold the write lock, and memory, for too long. */
export const MOST_BYTES = 16 * 1024 * 1024

/** The storage engines, as in the names of migration files. */
export type Engine = 'sqlite' | 'postgres'

/** A query or a fragment: `values` between `strings`, with one more string than values. */
export class Sql {
  readonly strings: readonly string[]
  readonly values: readonly SqlValue[]
  #postgres: Sql | (() => Sql) | undefined

  /** @param postgres the statement for PostgreSQL, if the engines differ, or what composes it */
  constructor(strings: readonly string[], values: readonly SqlValue[], postgres?: Sql | (() => Sql)) {
    this.strings = strings
    this.values = values
    this.#postgres = postgres
  }

  /** Whether the engines differ. */
  get differs(): boolean {
    return this.#postgres !== undefined
  }

  /** The statement for PostgreSQL, if the engines differ. */
  get postgres(): Sql | undefined {
    if (typeof this.#postgres === 'function') this.#postgres = this.#postgres()
    return this.#postgres
  }
}

/**
 * Writes a query: ``sql`SELECT id FROM cart WHERE owner = ${owner}` ``. A value made by `sql` becomes
 * a fragment, with its own values bound. Prefer whole queries without fragments: their statement is
 * cached by call site.
 *
 * @throws {TypeError} for a value that not every engine stores: undefined, boolean, Date, object,
 * fraction, NaN, text with NUL, more than 16 MiB of bytes
 */
export function sql(strings: TemplateStringsArray, ...values: readonly (SqlValue | Sql)[]): Sql {
  let isComposed = false
  for (const value of values) {
    if (value instanceof Sql) isComposed = true
    else assertStorable(value)
  }
  return isComposed ? compose(strings, values) : new Sql(strings, values as readonly SqlValue[])
}

/**
 * A query or a fragment for which SQLite and PostgreSQL need different SQL. In a transaction,
 * one that is empty for an engine does nothing there, and has no rows.
 */
export function byEngine({ sqlite, postgres }: Readonly<Record<Engine, Sql>>): Sql {
  return new Sql(sqlite.strings, sqlite.values, postgres.postgres ?? postgres)
}

/**
 * For the end of a SELECT in a transaction: other transactions cannot change its rows until this
 * one ends.
 */
export const forUpdate = byEngine({ sqlite: sql``, postgres: sql`FOR UPDATE` })

/**
 * Joins fragments: ``join(ids.map((id) => sql`${id}`))`` writes `?, ?, ?`. `fragments` must not be
 * empty.
 */
export function join(fragments: readonly Sql[], separator = ', '): Sql {
  if (fragments.length === 0) throw new TypeError('join() needs at least one fragment')
  return compose(around(fragments.length, separator), [...fragments])
}

/** The most fragments of a `join` whose text is remembered: a page has 20 rows by default. */
const FEW = 32
const MOST_JOINTS = 500
const joints = new Map<string, readonly string[]>()

/** What stands around and between fragments: the same array each time for a few. */
function around(count: number, separator: string): readonly string[] {
  const key = `${count}${separator}`
  const known = joints.get(key)
  if (known !== undefined) return known
  const strings = ['', ...Array<string>(count - 1).fill(separator), '']
  if (count > FEW || joints.size === MOST_JOINTS) return strings
  const kept = literal(strings)
  joints.set(key, kept)
  return kept
}

/**
 * Columns and their values by name, for an INSERT that cannot mix them up:
 * ``const columns = columnsOf('id', 'owner')``, then
 * ``sql`INSERT INTO note (${columns.names}) VALUES (${columns.values({ id, owner })})` ``. A value of
 * `['size', 'BIGINT']` is CAST: in a SELECT or in several rows PostgreSQL takes a NULL for text.
 */
export function columnsOf<Name extends string>(...columns: readonly (Name | readonly [Name, 'BIGINT'])[]) {
  const names = columns.map((column) => (typeof column === 'string' ? column : column[0]))
  const places = columns.map((column) =>
    typeof column === 'string' ? ['', ''] : ['CAST(', ` AS ${column[1]})`],
  )
  const between = places.map(
    ([before], index) => `${index === 0 ? '' : `${places[index - 1]?.[1]}, `}${before}`,
  )
  const strings = literal([...between, places.at(-1)?.[1] ?? ''])
  return {
    names: new Sql(literal(join(names.map(identifier)).strings), []),
    values(row: Readonly<Record<Name, SqlValue>>): Sql {
      const values: SqlValue[] = []
      for (const name of names) {
        const value = row[name]
        assertStorable(value)
        values.push(value)
      }
      return new Sql(strings, values)
    },
  }
}

/** A table or column name as a fragment: lower snake case, at most 63 characters. */
export function identifier(name: string): Sql {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name)) throw new TypeError(`"${name}" is not a SQL identifier`)
  return new Sql([name], [])
}

/** Replaces the fragments by their parts, and again for PostgreSQL when a fragment differs there. */
function compose(strings: readonly string[], parts: readonly (SqlValue | Sql)[]): Sql {
  const values: SqlValue[] = []
  let differs = false
  for (const part of parts) {
    if (!(part instanceof Sql)) {
      values.push(part)
      continue
    }
    differs ||= part.differs
    for (const value of part.values) values.push(value)
  }
  const texts = textsOf(strings, parts)
  if (!differs) return new Sql(texts, values)
  const forPostgres = () =>
    compose(
      strings,
      parts.map((part) => (part instanceof Sql && part.postgres) || part),
    )
  return new Sql(texts, values, forPostgres)
}

/** How many texts of one call site are remembered. */
const VARIANTS = 40
const stringsOf = (part: SqlValue | Sql) => (part instanceof Sql ? part.strings : undefined)

interface Composed {
  readonly strings: readonly string[]
  /** The strings of the fragments; undefined for a value. */
  readonly of: readonly (readonly string[] | undefined)[]
  readonly texts: readonly string[]
}
/** By the call site: of a `join` that of its first fragment. */
const composed = new WeakMap<readonly string[], Composed[]>()

function areOf(parts: readonly (SqlValue | Sql)[], of: Composed['of']): boolean {
  for (let index = 0; index < parts.length; index += 1)
    if (of[index] !== stringsOf(parts[index] as SqlValue | Sql)) return false
  return true
}

/** The same array each time if query and fragments are literals, so that engines find its statement. */
function textsOf(strings: readonly string[], parts: readonly (SqlValue | Sql)[]): readonly string[] {
  const [first] = parts
  const site = strings[0] === '' && first instanceof Sql ? first.strings : strings
  const known = composed.get(site)
  if (known !== undefined)
    for (const one of known) if (one.strings === strings && areOf(parts, one.of)) return one.texts
  const texts = [strings[0] as string]
  const append = (text: string | undefined) => texts.push(`${texts.pop()}${text}`)
  for (const [index, part] of parts.entries()) {
    if (part instanceof Sql) {
      append(part.strings[0])
      texts.push(...part.strings.slice(1))
      append(strings[index + 1])
    } else texts.push(strings[index + 1] as string)
  }
  const of = parts.map(stringsOf)
  const isKept = (one: readonly string[] | undefined) => one === undefined || isLiteral(one)
  if (known?.length === VARIANTS || ![strings, ...of].every(isKept)) return texts
  const kept = { strings, of, texts: literal(texts) }
  if (known === undefined) composed.set(site, [kept])
  else known.push(kept)
  return kept.texts
}

const isLiteral = (strings: readonly string[]) => 'raw' in strings

/** Strings that are the same array each time, like those of a template: engines keep a statement for them. */
export const literal = (strings: readonly string[]): readonly string[] =>
  Object.defineProperty([...strings], 'raw', { value: strings })

/** @throws {TypeError} for a value that not every engine stores */
export function assertStorable(value: unknown): asserts value is SqlValue {
  if (typeof value === 'bigint' || value === null || Number.isSafeInteger(value)) return
  if (typeof value === 'string') {
    if (!value.includes('\0')) return
    throw new TypeError('cannot store text with a NUL character, because PostgreSQL cannot')
  }
  if (value instanceof Uint8Array) {
    if (value.length <= MOST_BYTES) return
    throw new TypeError(`cannot store ${value.length} bytes in one value: the most is ${MOST_BYTES}`)
  }
  throw new TypeError(
    `cannot store ${typeof value} ${String(value)}: bind a string, a safe integer, a bigint, bytes or null`,
  )
}
