import type SqliteDatabase from 'better-sqlite3'
import { quoted } from '../port/quoted.ts'

import { ENCODERS, type KeyedRow, kindOf, type PortableTable } from './portable-table.ts'

/** Makes a function that inserts rows into a table, which is called `into` here. */
export function rowWriter(
  database: SqliteDatabase.Database,
  into: string,
  { columns }: PortableTable,
): (rows: readonly KeyedRow[]) => void {
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  const insert = database.prepare(
    `INSERT INTO ${quoted(into)} (${names}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const encoders = columns.map((column) => ENCODERS[kindOf(column)])
  return (rows) => {
    for (const { row } of rows) {
      insert.run(row.map((text, index) => (text === null ? null : encoders[index]?.(text))))
    }
  }
}
