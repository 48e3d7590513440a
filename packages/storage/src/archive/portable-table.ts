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

/** Rows read, and held in memory, at a time. */
export const BATCH = 5000
/** About the bytes of such rows: fewer rows are read at a time if their values are long. */
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

export const kindOf = ({ type }: PortableColumn): ValueKind => KINDS[type] ?? 'text'

/** A row in messages: its key, shortened. */
export function nameOfRow({ columns, key }: PortableTable, row: PortableRow): string {
  const values = key.map((name) => {
    const at = columns.findIndex((column) => column.name === name)
    return `${name} ${JSON.stringify(row[at])}`
  })
  const text = values.join(', ')
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
