import { type Sql, sql } from '@mortise/module-sdk/sql'
import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { isOwn } from '../migrations/foreign-change.ts'
import { type Guard, type Offence, onlyRows } from '../port/guard.ts'
import { programOf, rollsBack, rootsWritten } from './assert-aborts.ts'
import { compileRows } from './compile-rows.ts'
import type { Connection } from './connection.ts'
import { toDatabaseError } from './database-error.ts'
import { statementsOf } from './schema.ts'

const NO_TABLE = 'no such table: '

/**
 * The pragmas that a statement may read as tables, `pragma_table_info(…)`. `pragma_optimize` writes,
 * and checks read the rows of all.
 */
const PRAGMAS = new Set(
  [
    ...['table_list', 'table_info', 'table_xinfo', 'index_list', 'index_info', 'index_xinfo'],
    ...['foreign_key_list', 'foreign_keys', 'collation_list', 'function_list', 'module_list', 'pragma_list'],
    ...['compile_options', 'database_list', 'encoding', 'page_size', 'page_count', 'freelist_count'],
    ...['schema_version', 'user_version', 'data_version', 'application_id'],
  ].map((name) => `pragma_${name}`),
)

/**
 * SQLite compiles each statement on an empty database in memory that has the module's tables alone.
 * So it finds the tables of others itself, however a statement names them.
 */
export class SqliteGuard implements Guard {
  readonly #reader: Connection
  readonly #prefix: string | undefined
  #own: { readonly database: SqliteDatabase.Database; readonly version: unknown } | undefined

  /** @param prefix of the module's tables; undefined for a module without tables */
  constructor(reader: Connection, prefix: string | undefined) {
    this.#reader = reader
    this.#prefix = prefix
  }

  form(query: Sql): Sql {
    return query
  }

  offence({ strings }: Sql): Offence | undefined {
    const text = strings.join('?')
    if (text === '') return undefined
    const database = this.#ownTables()
    const compiled = compileRows(database, text)
    if (typeof compiled === 'string') return { reason: onlyRows(compiled) }
    const pragma = this.#otherPragma(database)
    if (pragma !== undefined)
      return { reason: `reads ${pragma}, which does more than describe tables: leave it out` }
    if (!(compiled instanceof Error))
      return compiled.readonly ? undefined : besides(database, text, strings.length - 1)
    const { message } = compiled
    const table = message.startsWith(NO_TABLE) ? this.#existing(message.slice(NO_TABLE.length)) : undefined
    if (table !== undefined) return { table }
    throw toDatabaseError(compiled, text, this.#reader.database.name)
  }

  /** Also notices what others have changed. */
  #ownTables(): SqliteDatabase.Database {
    const version = this.#reader.database.pragma('schema_version', { simple: true })
    const known = this.#own
    if (known !== undefined && known.version === version) return known.database
    known?.database.close()
    const database = openDatabase(':memory:')
    for (const { table, sql: text } of statementsOf(this.#reader))
      if (this.#prefix !== undefined && isOwn(this.#prefix, table)) database.exec(text)
    this.#own = { database, version }
    return database
  }

  /** SQLite makes the table of a pragma when a statement first names it. */
  #otherPragma(database: SqliteDatabase.Database): string | undefined {
    const found = database.prepare(`SELECT name FROM pragma_module_list WHERE name GLOB 'pragma_*'`).pluck()
    const other = (found.all() as string[]).find((name) => !PRAGMAS.has(name))
    if (other === undefined) return undefined
    // They stay, and would be found in each statement from now on.
    database.close()
    this.#own = undefined
    return other
  }

  /** A table of others. @param name as in the statement, with its schema if it has one there */
  #existing(name: string): string | undefined {
    const bare = name.toLowerCase().startsWith('main.') ? name.slice('main.'.length) : name
    const found = this.#reader.first<{ name: string }>(
      sql`SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ${bare} COLLATE NOCASE`,
    )
    return found?.name
  }
}

/** What the program of a write does besides. */
function besides(database: SqliteDatabase.Database, text: string, values: number): Offence | undefined {
  const program = programOf(database, text, values)
  if (rollsBack(program)) return { reason: 'ends other transactions by ROLLBACK: use ABORT, the default' }
  // SQLite itself writes the counters of AUTOINCREMENT with a row.
  const counters = database.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_sequence'`)
  const written = rootsWritten(program)
  const isCounter = written.length > 0 && written.every((page) => page === counters.pluck().get())
  return isCounter ? { table: 'sqlite_sequence' } : undefined
}
