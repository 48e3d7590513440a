import { Sql, type SqlValue } from '@mortise/module-sdk/sql'

/** A server keeps prepared statements per connection; other queries are planned each time. */
const COMPOSED_STATEMENTS = 500

/** The driver's input. A statement with a name is prepared once per connection. */
export interface StatementText {
  readonly text: string
  readonly name?: string
}

export interface BoundStatement {
  readonly statement: StatementText
  readonly values: readonly SqlValue[]
}

/**
 * The PostgreSQL text of queries. Numbers are bound as BIGINT and bytes as BYTEA: PostgreSQL would
 * otherwise guess the type of a placeholder from its context, so that `SELECT 5` would be text. A literal query is
 * found by the strings of its template and the types of its values, a composed one by its text.
 */
export class StatementTexts {
  readonly #bySite = new WeakMap<readonly string[], Map<string, StatementText>>()
  readonly #byText = new Map<string, StatementText>()
  #composed = 0

  get(query: Sql): BoundStatement {
    if (!(query instanceof Sql)) {
      throw new TypeError('this is not a query: write it with the sql`…` tag of @mortise/module-sdk')
    }
    const own = query.postgres ?? query
    return { statement: this.#find(own), values: own.values }
  }

  #find(query: Sql): StatementText {
    const { strings } = query
    if (!('raw' in strings)) return this.#findComposed(render(query))
    const known = this.#bySite.get(strings) ?? new Map<string, StatementText>()
    this.#bySite.set(strings, known)
    const types = typesOf(query)
    const statement = known.get(types) ?? this.#name(render(query))
    known.set(types, statement)
    return statement
  }

  #findComposed(text: string): StatementText {
    if (!this.#byText.has(text)) {
      if (this.#composed === COMPOSED_STATEMENTS) return { text }
      this.#composed += 1
    }
    return this.#name(text)
  }

  /** Equal texts have equal names, so a reloaded module prepares nothing again. */
  #name(text: string): StatementText {
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    const statement = { text, name: `s${this.#byText.size + 1}` }
    this.#byText.set(text, statement)
    return statement
  }
}

type Typed = 'n' | 'b' | '-'

function typeOf(value: SqlValue): Typed {
  if (typeof value === 'number' || typeof value === 'bigint') return 'n'
  return typeof value === 'object' && value !== null ? 'b' : '-'
}

const CASTS: Readonly<Record<Typed, string>> = { n: '::bigint', b: '::bytea', '-': '' }

/** One character for each value. */
function typesOf({ values }: Sql): string {
  let types = ''
  for (const value of values) types += typeOf(value)
  return types
}

function render({ strings, values }: Sql): string {
  let text = strings[0] as string
  values.forEach((value, index) => {
    text += `$${index + 1}${CASTS[typeOf(value)]}${strings[index + 1]}`
  })
  return text
}

/** Converts a query for a single use. */
export function bind(query: Sql): { readonly text: string; readonly values: readonly SqlValue[] } {
  const own = query.postgres ?? query
  return { text: render(own), values: own.values }
}
