import { DatabaseError } from '@mortise/module-sdk/transaction'
import type SqliteDatabase from 'better-sqlite3'
import type { Client } from 'pg'
import { nameOfRow, type PortableRow, type PortableTable } from '../archive/portable-table.ts'
import { readRows } from '../archive/read-rows.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import { toDatabaseError } from './database-error.ts'
import { asText, toPortableRow } from './read-rows.ts'

/** A table on PostgreSQL, and the source of its rows. */
export interface Pair {
  readonly table: PortableTable
  /** The table's name in the SQLite file. */
  readonly from: string
}

export interface CopyOptions {
  /** Compares each row with what the server stored. */
  readonly compare?: boolean
  /** Called after each batch with its number of rows. */
  readonly onRows?: (count: number) => void
}

/**
 * Copies the rows of a table into the empty one on PostgreSQL. Holds thousands of rows in memory.
 * @returns their number
 * @throws {MigrationError} that names a row that PostgreSQL cannot store, or stores with other values
 */
export async function copyRows(
  client: Client,
  source: SqliteDatabase.Database,
  { table, from }: Pair,
  { compare = false, onRows }: CopyOptions = {},
): Promise<number> {
  let count = 0
  for (const rows of readRows(source, from, table)) {
    const stored = await insertRows(client, table, rows, compare)
    if (compare) assertSame(table, rows, stored)
    count += rows.length
    onRows?.(rows.length)
  }
  return count
}

/**
 * @returns the rows in their order, as the server has them, if wanted
 * @throws {MigrationError} if the server refuses one
 */
async function insertRows(
  client: Client,
  table: PortableTable,
  rows: readonly PortableRow[],
  returning: boolean,
): Promise<PortableRow[]> {
  const columns = table.columns.map(({ name }) => quoted(name)).join(', ')
  const arrays = table.columns.map(({ cast }, index) => `$${index + 1}::${cast}[]`).join(', ')
  const values = table.columns.map((_, index) => rows.map((row) => row[index]))
  const text = `INSERT INTO ${quoted(table.name)} (${columns}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})${returning ? ` RETURNING ${columns}` : ''}`
  try {
    const stored = await client.query<(string | null)[]>({ text, values, rowMode: 'array', types: asText })
    return stored.rows.map(toPortableRow(table))
  } catch (error) {
    const known = toDatabaseError(error, text) as DatabaseError
    if (!(known instanceof DatabaseError) || known.kind === 'busy' || known.kind === 'unavailable')
      throw known
    const { message, detail = '' } = error as Error & { detail?: string }
    const among = `between ${nameOfRow(table, rows[0] as PortableRow)} and ${nameOfRow(table, rows.at(-1) as PortableRow)}`
    throw new MigrationError(
      `PostgreSQL refuses a row of "${table.name}" ${among}: ${message}${detail && `. ${detail.replace(/\.$/, '')}`}`,
      { cause: known },
    )
  }
}

function assertSame(
  table: PortableTable,
  rows: readonly PortableRow[],
  stored: readonly PortableRow[],
): void {
  const other = rows.find((row, at) => !row.every((value, column) => value === stored[at]?.[column]))
  if (other === undefined) return
  throw new MigrationError(
    `the row of "${table.name}" with ${nameOfRow(table, other)} differs after PostgreSQL stored it: the types of its columns there change the values`,
  )
}
