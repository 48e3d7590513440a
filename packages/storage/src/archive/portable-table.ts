// Rows in transit between the engines. A value travels as text, the same from either engine.

/** A table in its PostgreSQL form: its types decide, since SQLite's columns hold anything. */
export interface PortableTable {
  readonly name: string
  /** The stored columns; computed ones are computed again. */
  readonly columns: readonly PortableColumn[]
  /** The columns of its primary key, in their order; all columns without one. */
  readonly key: readonly string[]
}

export interface PortableColumn {
  readonly name: string
  /** PostgreSQL's name: `bigint`. */
  readonly type: string
  /** The type to which values are cast: `character` alone would cut them to one character. */
  readonly cast: string
  /** The sequence that counts it up, if any. */
  readonly sequence: string | null
}

/** The values of a table's columns, in their order. */
export type PortableRow = readonly (string | null)[]

/** A row, and its place in its database. */
export interface KeyedRow {
  readonly row: PortableRow
  readonly place: string
}

/** Rows read, and held in memory, at a time. */
export const BATCH = 5000
/** The bytes of such rows: fewer rows are read at a time if their values are long. */
export const BATCH_BYTES = 16 * 1024 * 1024

export type ValueKind = 'integer' | 'boolean' | 'float' | 'bytes' | 'text'

const KINDS: Readonly<Record<string, ValueKind>> = {
  smallint: 'integer',
  integer: 'integer',
  bigint: 'integer',
  boolean: 'boolean',
  real: 'float',
  'double precision': 'float',
  bytea: 'bytes',
}

/** Makes SQLite's value of a text. */
export const ENCODERS: Readonly<Record<ValueKind, (text: string) => unknown>> = {
  integer: BigInt,
  boolean: BigInt,
  float: Number,
  bytes: (text) => Buffer.from(text.slice('\\x'.length), 'hex'),
  text: String,
}

/** Whether rows can be so long that some thousand do not fit into memory. */
export const hasBytes = ({ columns }: PortableTable) => columns.some((column) => kindOf(column) === 'bytes')

/** About its length in memory. */
export const lengthOf = (row: PortableRow) => row.reduce((sum, value) => sum + (value?.length ?? 0), 0)

export const kindOf = ({ type }: PortableColumn): ValueKind => KINDS[type] ?? 'text'

/** In the order of both engines: numbers by value, text by its UTF-8, NULL first. */
export function compareKeys(table: PortableTable): (one: PortableRow, other: PortableRow) => number {
  const compared = keyColumns(table).map(({ at, kind }) => ({ at, compare: COMPARE[kind] }))
  return (one, other) => {
    for (const { at, compare } of compared) {
      const [left, right] = [one[at] as string | null, other[at] as string | null]
      if (left === right) continue
      if (left === null) return -1
      if (right === null) return 1
      const order = compare(left, right)
      if (order !== 0) return order
    }
    return 0
  }
}

export interface KeyColumn {
  readonly name: string
  /** The column's index in a row. */
  readonly at: number
  readonly kind: ValueKind
}

export function keyColumns({ columns, key }: PortableTable): KeyColumn[] {
  return key.map((name) => {
    const at = columns.findIndex((column) => column.name === name)
    return { name, at, kind: kindOf(columns[at] as PortableColumn) }
  })
}

const compareBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))
const compareIntegers = (one: string, other: string) => {
  const difference = BigInt(one) - BigInt(other)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

const COMPARE: Readonly<Record<ValueKind, (one: string, other: string) => number>> = {
  integer: compareIntegers,
  boolean: compareBytes,
  float: (one, other) => Number(one) - Number(other),
  // Hexadecimal digits sort like the bytes that they encode.
  bytes: compareBytes,
  text: compareBytes,
}

/** A row in messages: its key, shortened. */
export function nameOfRow(table: PortableTable, row: PortableRow): string {
  const values = keyColumns(table).map(({ name, at }) => `${name} ${JSON.stringify(row[at])}`)
  const text = values.join(', ')
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
