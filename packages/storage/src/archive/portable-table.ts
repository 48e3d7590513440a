// Rows on their way between the engines. A value travels as text, the same whichever engine it comes from.

/** A table as PostgreSQL has it: its types decide, since SQLite's columns hold anything. */
export interface PortableTable {
  readonly name: string
  /** Those that are stored; what is computed from others is computed again. */
  readonly columns: readonly PortableColumn[]
  /** The columns of its primary key, in their order; all columns where it has none. */
  readonly key: readonly string[]
}

export interface PortableColumn {
  readonly name: string
  /** As PostgreSQL calls it: `bigint`. */
  readonly type: string
  /** The same as values are cast to it: `character` alone would cut them to one. */
  readonly cast: string
  /** What counts it up, where something does. */
  readonly sequence: string | null
}

/** The values of a table's columns, in their order. */
export type PortableRow = readonly (string | null)[]

/** A row, and where its database has it. */
export interface KeyedRow {
  readonly row: PortableRow
  readonly place: string
}

/** So many rows are read, and in memory, at a time. */
export const BATCH = 5000

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

export const kindOf = ({ type }: PortableColumn): ValueKind => KINDS[type] ?? 'text'

/** Compares rows by the key of their table, as both engines sort them: numbers by value, text by its UTF-8, NULL first. */
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
  /** Where in a row it is. */
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
  // Hexadecimal digits sort as what they stand for.
  bytes: compareBytes,
  text: compareBytes,
}

/** A row for people: by its key, shortened. */
export function nameOfRow(table: PortableTable, row: PortableRow): string {
  const values = keyColumns(table).map(({ name, at }) => `${name} ${JSON.stringify(row[at])}`)
  const text = values.join(', ')
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
