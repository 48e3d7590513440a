import type { Storage } from '@mortise/host'
import { byEngine, identifier, sql } from '@mortise/module-sdk'
import { countTables } from '@mortise/module-sdk/host'

/** The tables of a module, in forms to compare. */
export class OwnTables {
  readonly #storage: Storage
  readonly #prefix: string | undefined

  /** @param prefix `mortise.tables` of the manifest */
  constructor(storage: Storage, prefix: string | undefined) {
    this.#storage = storage
    this.#prefix = prefix
  }

  async names(): Promise<string[]> {
    const prefix = this.#prefix
    if (prefix === undefined) return []
    const rows = await this.#storage.many<{ name: string }>(
      byEngine({
        sqlite: sql`SELECT name FROM sqlite_schema WHERE type = 'table'`,
        postgres: sql`SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()`,
      }),
    )
    return rows.map(({ name }) => name).filter((name) => name === prefix || name.startsWith(`${prefix}_`))
  }

  /** Without the counts of a `RankedList`, which change in the background. */
  async rows(): Promise<string> {
    const tables: string[] = []
    for (const table of await this.names()) {
      if (countTables.has(table)) continue
      const rows = await this.#storage.many(sql`SELECT * FROM ${identifier(table)}`)
      tables.push(`${table} ${rows.map((row) => JSON.stringify(row, plain)).sort()}`)
    }
    return tables.join('\n')
  }

  /** Columns and indexes. */
  async schema(): Promise<string> {
    const columns = byEngine({
      sqlite: sql`
        SELECT master.name, type, tbl_name AS "table", (SELECT group_concat(name || type || "notnull" || pk, ',')
          FROM pragma_table_info(master.name)) AS columns FROM sqlite_schema AS master`,
      postgres: sql`
        SELECT table_name::text AS "table", column_name::text AS name, data_type::text AS type, is_nullable::text AS columns
        FROM information_schema.columns WHERE table_schema = current_schema()`,
    })
    const rows = await this.#storage.many<{ table: string }>(columns)
    const own = new Set(await this.names())
    return rows
      .filter(({ table }) => own.has(table))
      .map((row) => JSON.stringify(row))
      .sort()
      .join('\n')
  }
}

const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
