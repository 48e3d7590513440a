import { byEngine, identifier, sql } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'

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

  async rows(): Promise<string> {
    const tables: string[] = []
    for (const table of await this.names()) {
      const rows = await this.#storage.many(sql`SELECT * FROM ${identifier(table)}`)
      tables.push(`${table} ${rows.map((row) => JSON.stringify(row, plain)).sort()}`)
    }
    return tables.join('\n')
  }

  /** The names of all columns. */
  async columns(): Promise<string[]> {
    const names: string[] = []
    for (const table of await this.names()) {
      const columns = await this.#storage.many<{ name: string }>(
        byEngine({
          sqlite: sql`SELECT name FROM pragma_table_info(${table})`,
          postgres: sql`
            SELECT column_name::text AS name FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = ${table}`,
        }),
      )
      names.push(...columns.map(({ name }) => name))
    }
    return names
  }

  /** The number of rows of each table. */
  async sizes(): Promise<Map<string, number>> {
    const sizes = new Map<string, number>()
    for (const table of await this.names()) {
      const { count } = await this.#storage.one<{ count: number }>(
        sql`SELECT count(*) AS count FROM ${identifier(table)}`,
      )
      sizes.set(table, Number(count))
    }
    return sizes
  }

  /** The rows of each table, by column. */
  async contents(): Promise<Map<string, Record<string, unknown>[]>> {
    const contents = new Map<string, Record<string, unknown>[]>()
    for (const table of await this.names()) {
      contents.set(table, await this.#storage.many(sql`SELECT * FROM ${identifier(table)}`))
    }
    return contents
  }

  /** How many rows have `value` in a column. */
  async count(value: unknown): Promise<number> {
    let count = 0
    for (const table of await this.names()) {
      const rows = await this.#storage.many<Record<string, unknown>>(sql`SELECT * FROM ${identifier(table)}`)
      count += rows.filter((row) => Object.values(row).some((one) => same(one, value))).length
    }
    return count
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

const same = (one: unknown, other: unknown) =>
  one === other || (typeof one === 'bigint' && typeof other === 'number' && one === BigInt(other))
