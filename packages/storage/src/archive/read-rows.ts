import type SqliteDatabase from 'better-sqlite3'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import {
  BATCH,
  BATCH_BYTES,
  kindOf,
  nameOfRow,
  type PortableColumn,
  type PortableRow,
  type PortableTable,
} from './portable-table.ts'

const SMALLEST_AND_LARGEST: Readonly<Record<string, number>> = { smallint: 2 ** 15, integer: 2 ** 31 }

/**
 * Reads the rows of a table, in batches, and checks each row for values that PostgreSQL cannot
 * store. Runs within a transaction, so that all are of one moment.
 * @param from the name of the table here
 * @throws {MigrationError} that names row and column
 */
export function* readRows(
  database: SqliteDatabase.Database,
  from: string,
  table: PortableTable,
): Generator<PortableRow[]> {
  const { columns } = table
  const isExact = hasOnlySafeIntegers(database, from, columns)
  const readers = columns.map((column) => ({ column, read: readerOf(column) }))
  const select = `SELECT ${columns.map((column) => selected(column, isExact)).join(', ')} FROM ${quoted(from)}`
  let batch: PortableRow[] = []
  let characters = 0
  for (const values of database.prepare(select).raw().iterate() as Iterable<unknown[]>) {
    batch.push(
      readers.map(({ column, read }, index) => {
        const value = values[index]
        if (value === null) return null
        const text = read(value)
        if (text === undefined) throw unfit(table, values.map(String), column, value)
        characters += text.length
        return text
      }),
    )
    if (batch.length < BATCH && characters < BATCH_BYTES) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}

/** Reading integers as numbers takes half the time. */
function hasOnlySafeIntegers(
  database: SqliteDatabase.Database,
  from: string,
  columns: readonly PortableColumn[],
): boolean {
  const limit = Number.MAX_SAFE_INTEGER
  const beyond = columns
    .filter((column) => kindOf(column) === 'integer' || kindOf(column) === 'text')
    .map(({ name }) => quoted(name))
    .map((name) => `(typeof(${name}) = 'integer' AND NOT ${name} BETWEEN -${limit} AND ${limit})`)
  if (beyond.length === 0) return true
  const found = database.prepare(`SELECT 1 FROM ${quoted(from)} WHERE ${beyond.join(' OR ')} LIMIT 1`).get()
  return found === undefined
}

/** Reads integers as digits if a number would round one. */
function selected(column: PortableColumn, isExact: boolean): string {
  const name = quoted(column.name)
  if (isExact || kindOf(column) === 'bytes' || kindOf(column) === 'float') return name
  return `CASE typeof(${name}) WHEN 'integer' THEN CAST(${name} AS TEXT) ELSE ${name} END`
}

/** Undefined for a value that the column cannot hold. */
function readerOf(column: PortableColumn): (value: unknown) => string | undefined {
  switch (kindOf(column)) {
    case 'integer': {
      const limit = SMALLEST_AND_LARGEST[column.type] ?? Number.POSITIVE_INFINITY
      return (value) => {
        if (Number.isInteger(value)) {
          const number = value as number
          return number < limit && number >= -limit ? String(number) : undefined
        }
        const isInteger = typeof value === 'string' && /^-?\d+$/.test(value)
        return isInteger && Number(value) < limit && Number(value) >= -limit ? value : undefined
      }
    }
    case 'boolean':
      return (value) =>
        value === 0 || value === 1 || value === '0' || value === '1' ? String(value) : undefined
    case 'float':
      return (value) => (typeof value === 'number' ? String(value) : undefined)
    case 'bytes':
      return (value) => {
        if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
        return typeof value === 'string' ? `\\x${Buffer.from(value).toString('hex')}` : undefined
      }
    case 'text':
      return (value) => {
        if (typeof value === 'number') return String(value)
        return typeof value === 'string' && !value.includes('\0') ? value : undefined
      }
  }
}

function unfit(
  table: PortableTable,
  row: PortableRow,
  column: PortableColumn,
  value: unknown,
): MigrationError {
  const why =
    typeof value === 'string' && value.includes('\0')
      ? 'a NUL character, which PostgreSQL cannot store'
      : `${typeof value === 'string' ? JSON.stringify(value.slice(0, 50)) : `a ${Buffer.isBuffer(value) ? 'blob' : typeof value}`}, which the type ${column.type} in PostgreSQL cannot store`
  return new MigrationError(
    `the row of "${table.name}" with ${nameOfRow(table, row)} has in the column "${column.name}" ${why}`,
  )
}
