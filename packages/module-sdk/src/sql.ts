/**
 * SQL as values. A query is written once and runs on every storage engine, which adds its own
 * placeholders (`?`, `$1`). Values are always bound, never part of the text. Portable values are
 * TEXT (string without NUL), BIGINT and INTEGER (safe integer or bigint) and NULL. Booleans are
 * INTEGER 0/1, times are epoch milliseconds, JSON is TEXT.
 */
export type SqlValue = string | number | bigint | null

/** A query or a fragment: `values` between `strings`, with one more string than values. */
export class Sql {
  readonly strings: readonly string[]
  readonly values: readonly SqlValue[]
  /** The statement for PostgreSQL, if the engines differ. */
  readonly postgres: Sql | undefined

  constructor(strings: readonly string[], values: readonly SqlValue[], postgres?: Sql) {
    this.strings = strings
    this.values = values
    this.postgres = postgres
  }
}

/**
 * Writes a query: ``sql`SELECT id FROM cart WHERE owner = ${owner}` ``. A value made by `sql` becomes
 * a fragment, with its own values bound. Prefer whole queries without fragments: their statement is
 * cached by call site.
 *
 * @throws {TypeError} for a value that not every engine stores: undefined, boolean, Date, object,
 * fraction, NaN, text with NUL
 */
export function sql(strings: TemplateStringsArray, ...values: readonly (SqlValue | Sql)[]): Sql {
  if (!values.some((value) => value instanceof Sql)) {
    for (const value of values) assertStorable(value)
    return new Sql(strings, values as readonly SqlValue[])
  }
  return onEach(values, (values) => {
    const texts = [strings[0] as string]
    const bound: SqlValue[] = []
    values.forEach((value, index) => {
      const after = strings[index + 1] as string
      if (value instanceof Sql) {
        append(texts, bound, value)
        texts.push(texts.pop() + after)
      } else {
        assertStorable(value)
        bound.push(value)
        texts.push(after)
      }
    })
    return [texts, bound]
  })
}

/**
 * A query or a fragment for which SQLite and PostgreSQL need different SQL. In a transaction,
 * one that is empty for an engine does nothing there, and has no rows.
 */
export function byEngine({ sqlite, postgres }: { readonly sqlite: Sql; readonly postgres: Sql }): Sql {
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
  return onEach(fragments, (fragments) => {
    const texts = ['']
    const bound: SqlValue[] = []
    fragments.forEach((fragment, index) => {
      if (index > 0) texts.push(texts.pop() + separator)
      append(texts, bound, fragment)
    })
    return [texts, bound]
  })
}

/** A table or column name as a fragment: lower snake case, at most 63 characters. */
export function identifier(name: string): Sql {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name)) throw new TypeError(`"${name}" is not a SQL identifier`)
  return new Sql([name], [])
}

/** Composes parts, and composes them again for PostgreSQL if a part differs there. */
function onEach<Part>(
  parts: readonly Part[],
  compose: (parts: readonly Part[]) => [strings: string[], values: SqlValue[]],
): Sql {
  const variant = (part: Part) => (part instanceof Sql && part.postgres) || part
  const differs = parts.some((part) => part instanceof Sql && part.postgres)
  const postgres = differs ? new Sql(...compose(parts.map((part) => variant(part) as Part))) : undefined
  return new Sql(...compose(parts), postgres)
}

function append(texts: string[], bound: SqlValue[], fragment: Sql): void {
  const [first, ...rest] = fragment.strings
  texts.push((texts.pop() as string) + first, ...rest)
  bound.push(...fragment.values)
}

function assertStorable(value: unknown): asserts value is SqlValue {
  if (typeof value === 'bigint' || value === null || Number.isSafeInteger(value)) return
  if (typeof value === 'string') {
    if (!value.includes('\0')) return
    throw new TypeError('cannot store text with a NUL character, because PostgreSQL cannot')
  }
  throw new TypeError(
    `cannot store ${typeof value} ${String(value)}: bind a string, a safe integer, a bigint or null`,
  )
}
