import { DatabaseError } from '@mortise/module-sdk/transaction'
import { nameOfRow, type PortableRow, type PortableTable } from '../archive/portable-table.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { Query } from './change-schema.ts'

/** @throws {MigrationError} if the server refuses one */
export async function insertRows(
  query: Query,
  table: PortableTable,
  rows: readonly PortableRow[],
): Promise<void> {
  const columns = table.columns.map(({ name }) => quoted(name)).join(', ')
  const arrays = table.columns.map(({ cast }, index) => `$${index + 1}::${cast}[]`).join(', ')
  const values = table.columns.map((_, index) => rows.map((row) => row[index]))
  try {
    await query(
      `INSERT INTO ${quoted(table.name)} (${columns}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})`,
      values,
    )
  } catch (error) {
    const { kind, cause } = error as DatabaseError
    if (!(error instanceof DatabaseError) || kind === 'busy' || kind === 'unavailable') throw error
    const { message, detail = '' } = cause as Error & { detail?: string }
    const among = `between ${nameOfRow(table, rows[0] as PortableRow)} and ${nameOfRow(table, rows.at(-1) as PortableRow)}`
    throw new MigrationError(
      `PostgreSQL refuses a row of "${table.name}" ${among}: ${message}${detail && `. ${detail.replace(/\.$/, '')}`}`,
      { cause: error },
    )
  }
}

/** @param places the server's places of the rows */
export async function deleteRows(
  query: Query,
  { name }: PortableTable,
  places: readonly string[],
): Promise<void> {
  await query(`DELETE FROM ${quoted(name)} WHERE ctid = ANY ($1::tid[])`, [places])
}
