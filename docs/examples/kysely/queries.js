import { many, run, sql } from '@mortise/module-sdk'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'

/**
 * The tables of the module, as its migrations create them.
 * @typedef {{ id: string, owner: string, product: string, stars: number }} Review
 * @typedef {{ review: Review }} Tables
 */

/** The place of a value. The text of a statement never has this character. */
const PLACE = '\0'

class Compiler extends SqliteQueryCompiler {
  /** @override */
  getCurrentParameterPlaceholder() {
    return PLACE
  }
}

/** Writes queries and never runs one: the host does. @type {Kysely<Tables>} */
export const db = new Kysely({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new Compiler(),
  },
})

/**
 * A query of Kysely as one of the SDK, which binds the values for each engine.
 * @param {import('kysely').Compilable} query
 */
export function toSql(query) {
  const { sql: text, parameters } = query.compile()
  const texts = text.split(PLACE)
  const values = /** @type {import('@mortise/module-sdk').SqlValue[]} */ (parameters)
  return sql(Object.assign(texts, { raw: texts }), ...values)
}

/**
 * The step that reads all rows of a query, with their type.
 * @template Row
 * @param {import('kysely').Compilable<Row>} query
 * @returns {import('@mortise/module-sdk').Transaction<Row[]>}
 */
export const rowsOf = (query) => many(toSql(query))

/**
 * The step that runs a statement. Its result is the number of changed rows.
 * @param {import('kysely').Compilable} query
 */
export const change = (query) => run(toSql(query))
