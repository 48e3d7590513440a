import { DatabaseError, Sql } from '@mortise/module-sdk'
import type SqliteDatabase from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { refusedStatement } from '../port/refused-sql.ts'
import { toDatabaseError } from './database-error.ts'
import { compileRowReader, type RowReader } from './row-reader.ts'

/**
 * Composed queries with a cached statement; the statement of a literal query lives as long as its
 * call site.
 */
export const COMPOSED_STATEMENTS = 500

/** A prepared statement, with properties for which the driver has only slow getters. */
export interface PreparedStatement {
  readonly statement: SqliteDatabase.Statement
  readonly text: string
  /** Makes its rows; undefined for a statement without rows. */
  readonly read: RowReader | undefined
  readonly readonly: boolean
}

/**
 * The prepared statements of one connection. A literal query is found by the strings of its
 * template, without rendering it; a composed one by its text, with the least recently used dropped.
 */
export class StatementCache {
  readonly #database: SqliteDatabase.Database
  #bySite = new WeakMap<readonly string[], PreparedStatement>()
  readonly #byText = new LRUCache<string, PreparedStatement>({ max: COMPOSED_STATEMENTS })

  constructor(database: SqliteDatabase.Database) {
    this.#database = database
  }

  /** The number of cached composed queries. */
  get composed(): number {
    return this.#byText.size
  }

  /** Drops all: a schema change may change the meaning of queries. */
  clear(): void {
    this.#bySite = new WeakMap()
    this.#byText.clear()
  }

  /** @throws {DatabaseError} for a refused statement or invalid SQL */
  get(query: Sql): PreparedStatement {
    if (!(query instanceof Sql)) {
      throw new TypeError('a query is written with the sql`…` tag of @mortise/module-sdk; this is none')
    }
    const { strings } = query
    const known = this.#bySite.get(strings)
    if (known !== undefined) return known
    if ('raw' in strings) {
      const prepared = this.#prepare(strings.join('?'))
      this.#bySite.set(strings, prepared)
      return prepared
    }
    const text = strings.join('?')
    let composed = this.#byText.get(text)
    if (composed === undefined) {
      composed = this.#prepare(text)
      this.#byText.set(text, composed)
    }
    return composed
  }

  #prepare(text: string): PreparedStatement {
    const reason = refusedStatement(text)
    if (reason !== undefined) throw new DatabaseError('refused', `${reason}. The statement: ${text.trim()}`)
    try {
      const statement = this.#database.prepare(text)
      const { readonly } = statement
      if (!statement.reader) return { statement, text, read: undefined, readonly }
      const columns = statement.columns().map(({ name }) => name)
      return { statement: statement.raw(), text, read: compileRowReader(columns, text), readonly }
    } catch (error) {
      throw toDatabaseError(error, text, this.#database.name)
    }
  }
}
