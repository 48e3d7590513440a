import { createHash, type Hash } from 'node:crypto'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type SqliteDatabase from 'better-sqlite3'
import type { Client } from 'pg'
import {
  BATCH,
  BATCH_BYTES,
  compareKeys,
  hasBytes,
  type KeyedRow,
  nameOfRow,
  type PortableRow,
  type PortableTable,
} from '../archive/portable-table.ts'
import { readRows as readSource } from '../archive/read-rows.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { Query } from './change-schema.ts'
import { readRows } from './read-rows.ts'

/** A table on PostgreSQL, and the source of its rows. */
export interface Pair {
  readonly table: PortableTable
  /** The table's name in the SQLite file. */
  readonly from: string
}

export interface Reconciled {
  readonly table: string
  /** Rows of the source. */
  readonly rows: number
  /** Rows written or deleted; with 0 both sides have the same rows. */
  readonly mended: number
  /** The first of these, for messages. */
  readonly first: string | undefined
  /** SHA-256 over all rows in key order, hexadecimal; for the target before the changes. */
  readonly checksum: { readonly source: string; readonly target: string }
}

/** Two connections to the schema, or one in a transaction. */
export interface Target {
  /** Reads within a transaction. */
  readonly reader: Client
  readonly query: Query
}

/**
 * Compares a table on both sides in key order, row by row, and makes the target's rows equal to the
 * source's: writes all rows to an empty target, and only the differences otherwise. Holds thousands
 * of rows in memory, or fewer long ones.
 *
 * @throws {MigrationError} that names a row that PostgreSQL cannot store
 */
export async function reconcile(
  source: SqliteDatabase.Database,
  { reader, query }: Target,
  { table, from }: Pair,
): Promise<Reconciled> {
  const compare = compareKeys(table)
  const missing: PortableRow[] = []
  const extra: string[] = []
  let mended = 0
  let first: string | undefined
  const late: PortableRow[] = []
  /** Of the missing rows, about. */
  let length = 0
  const flush = async () => {
    // Deletes first: a changed row is in both lists.
    if (extra.length > 0) await deleteRows(query, table, extra.splice(0))
    const rows = missing.splice(0)
    length = 0
    if (rows.length === 0) return
    await insertRows(query, table, rows).catch((error) => {
      // A row that is deleted only later may still hold a unique value.
      if ((error.cause as DatabaseError | undefined)?.kind !== 'unique') throw error
      late.push(...rows)
    })
  }

  const ours = new Walk(readSource(source, from, table))
  const theirs = new Walk(readRows(reader, table, { ordered: true }))
  try {
    await ours.fill()
    await theirs.fill()
    while (ours.row !== undefined || theirs.row !== undefined) {
      const order = ours.row === undefined ? 1 : theirs.row === undefined ? -1 : compare(ours.row, theirs.row)
      const text = order <= 0 ? lineOf(ours.row as PortableRow) : ''
      const isSame = order === 0 && isEqual(ours.row as PortableRow, theirs.row as PortableRow)
      if (!isSame) {
        mended += 1
        first ??= nameOfRow(table, (order <= 0 ? ours.row : theirs.row) as PortableRow)
        if (order <= 0) missing.push(ours.row as PortableRow)
        length += text.length
        if (order >= 0) extra.push(theirs.place)
      }
      // Equal rows are formatted once for both sides.
      if (order >= 0 && theirs.pass(isSame ? text : lineOf(theirs.row as PortableRow))) await theirs.fill()
      if (order <= 0 && ours.pass(text)) await ours.fill()
      if (missing.length + extra.length >= BATCH || length >= 2 * BATCH_BYTES) await flush()
    }
    await flush()
    while (late.length > 0) await insertRows(query, table, late.splice(0, hasBytes(table) ? 1 : BATCH))
  } finally {
    await ours.end()
    await theirs.end()
  }
  const checksum = { source: ours.checksum(), target: theirs.checksum() }
  return { table: table.name, rows: ours.rows, mended, first, checksum }
}

/** @throws {MigrationError} if rows differ after they were written */
export function assertSame({ table, first }: Reconciled): void {
  if (first === undefined) return
  throw new MigrationError(
    `the row of "${table}" with ${first} differs after PostgreSQL stored it: the types of its columns there change the values`,
  )
}

const lineOf = (row: PortableRow) => `${JSON.stringify(row)}\n`
const isEqual = (one: PortableRow, other: PortableRow) => one.every((value, index) => value === other[index])

/** One side: the current row and the checksum of the previous ones. */
class Walk {
  readonly #batches: Iterator<KeyedRow[]> | AsyncIterator<KeyedRow[]>
  readonly #hash: Hash = createHash('sha256')
  #batch: KeyedRow[] = []
  #text = ''
  #at = 0
  rows = 0
  row: PortableRow | undefined

  constructor(batches: Iterator<KeyedRow[]> | AsyncIterator<KeyedRow[]>) {
    this.#batches = batches
  }

  /** The server's place of the row. */
  get place(): string {
    return (this.#batch[this.#at] as KeyedRow).place
  }

  /** `line` is the part of this row in the checksum. Returns whether `fill` must come first. */
  pass(line: string): boolean {
    this.rows += 1
    this.#text += line
    this.#at += 1
    this.row = this.#batch[this.#at]?.row
    return this.row === undefined
  }

  /** Reads the next batch. */
  async fill(): Promise<void> {
    this.#hash.update(this.#text)
    this.#text = ''
    const { value, done } = await this.#batches.next()
    this.#batch = done ? [] : value
    this.#at = 0
    this.row = this.#batch[0]?.row
  }

  checksum(): string {
    return this.#hash.update(this.#text).digest('hex')
  }

  async end(): Promise<void> {
    await this.#batches.return?.()
  }
}

/** @throws {MigrationError} if the server refuses one */
async function insertRows(query: Query, table: PortableTable, rows: readonly PortableRow[]): Promise<void> {
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
async function deleteRows(query: Query, { name }: PortableTable, places: readonly string[]): Promise<void> {
  await query(`DELETE FROM ${quoted(name)} WHERE ctid = ANY ($1::tid[])`, [places])
}
