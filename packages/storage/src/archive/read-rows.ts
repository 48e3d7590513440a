import type SqliteDatabase from 'better-sqlite3'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'

import {
  BATCH,
  BATCH_BYTES,
  ENCODERS,
  hasBytes,
  type KeyColumn,
  type KeyedRow,
  keyColumns,
  kindOf,
  lengthOf,
  nameOfRow,
  type PortableColumn,
  type PortableRow,
  type PortableTable,
} from './portable-table.ts'

const SMALLEST_AND_LARGEST: Readonly<Record<string, number>> = { smallint: 2 ** 15, integer: 2 ** 31 }

/**
 * Reads the rows of a table in key order, in batches, and checks each row for values that
 * PostgreSQL cannot store. With the table's own key each batch is a separate read: it may or may
 * not contain concurrent writes.
 * @param from the name of the table here
 * @throws {MigrationError} that names row and column
 */
export function* readRows(
  database: SqliteDatabase.Database,
  from: string,
  table: PortableTable,
): Generator<KeyedRow[]> {
  const { columns } = table
  const isExact = hasOnlySafeIntegers(database, from, columns)
  const readers = columns.map((column) => ({ column, read: readerOf(column) }))
  const toRow = (values: unknown[]): KeyedRow => {
    const row = readers.map(({ column, read }, index) => {
      const value = values[index]
      if (value === null) return null
      const text = read(value)
      if (text === undefined) throw unfit(table, values.map(String), column, value)
      return text
    })
    return { row, place: '' }
  }
  const select = `SELECT ${columns.map((column) => selected(column, isExact)).join(', ')} FROM ${quoted(from)}`
  const keys = keyColumns(table)
  const order = `ORDER BY ${keys.map(({ name }) => `${quoted(name)} COLLATE BINARY`).join(', ')}`
  const isLong = hasBytes(table)
  if (!isPrimaryKey(database, from, table)) {
    const rows = database.prepare(`${select} ${order}`).raw().iterate() as Iterable<unknown[]>
    yield* batches(rows, toRow, isLong)
    return
  }
  const names = keys.map(({ name }) => quoted(name)).join(', ')
  const first = database.prepare(`${select} ${order} LIMIT ${BATCH}`).raw()
  const next = database
    .prepare(`${select} WHERE (${names}) > (${keys.map(() => '?').join(', ')}) ${order} LIMIT ${BATCH}`)
    .raw()
  /** The next rows; fewer if they are long. */
  const read = (statement: SqliteDatabase.Statement, values: readonly unknown[]) => {
    if (!isLong) return (statement.all(values) as unknown[][]).map(toRow)
    const begun = batches(statement.iterate(values) as Iterable<unknown[]>, toRow, true)
    const { value } = begun.next()
    begun.return(undefined)
    return value as KeyedRow[]
  }
  let batch = read(first, [])
  while (batch.length > 0) {
    yield batch
    const { row } = batch.at(-1) as KeyedRow
    const place = keys.map((key) => bound(table, row, key))
    batch = read(next, place)
  }
}

/** The rows in batches, the last of which may be empty. */
function* batches(
  rows: Iterable<unknown[]>,
  toRow: (values: unknown[]) => KeyedRow,
  isLong: boolean,
): Generator<KeyedRow[]> {
  let batch: KeyedRow[] = []
  let length = 0
  for (const values of rows) {
    const keyed = toRow(values)
    batch.push(keyed)
    if (isLong) length += lengthOf(keyed.row)
    if (batch.length < BATCH && length < 2 * BATCH_BYTES) continue
    yield batch
    batch = []
    length = 0
  }
  yield batch
}

/** Whether the key is also that of the table here, so that it finds rows. */
function isPrimaryKey(database: SqliteDatabase.Database, from: string, { key }: PortableTable): boolean {
  const own = database
    .prepare('SELECT name FROM pragma_table_info(?) WHERE pk > 0')
    .pluck()
    .all(from) as string[]
  return own.length === key.length && own.every((name) => key.includes(name))
}

function bound(table: PortableTable, row: PortableRow, { at, kind }: KeyColumn): unknown {
  const text = row[at] as string | null
  // SQLite allows NULL in keys, and NULLs have no order.
  if (text === null) throw unfit(table, row, table.columns[at] as PortableColumn, null)
  return ENCODERS[kind](text)
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
