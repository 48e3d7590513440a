import type { Client } from 'pg'
import {
  BATCH,
  BATCH_BYTES,
  hasBytes,
  kindOf,
  type PortableRow,
  type PortableTable,
} from '../archive/portable-table.ts'
import { quoted } from '../port/quoted.ts'
import { toDatabaseError } from './database-error.ts'

export const asText = { getTypeParser: () => String }

/** Runs within a transaction, with one such read at a time. */
export async function* readRows(client: Client, table: PortableTable): AsyncGenerator<PortableRow[]> {
  const columns = table.columns.map(({ name }) => quoted(name))
  const query = async (text: string): Promise<(string | null)[][]> => {
    try {
      return (await client.query({ text, rowMode: 'array', types: asText })).rows
    } catch (error) {
      throw toDatabaseError(error, text)
    }
  }
  const toRow = toPortableRow(table)
  await query(`DECLARE rows NO SCROLL CURSOR FOR SELECT ${columns.join(', ')} FROM ${quoted(table.name)}`)
  const size = hasBytes(table) ? await rowsAtOnce(table, query) : BATCH
  // The server fetches the next batch while this one is used.
  const fetch = () => {
    const fetched = query(`FETCH ${size} FROM rows`)
    fetched.catch(() => {})
    return fetched
  }
  let next = fetch()
  for (;;) {
    const batch = await next
    if (batch.length === 0) break
    next = fetch()
    yield batch.map(toRow)
  }
  await query('CLOSE rows')
}

/** So few that the longest ones fit into memory. */
async function rowsAtOnce(
  { name, columns }: PortableTable,
  query: (text: string) => Promise<(string | null)[][]>,
): Promise<number> {
  const lengths = columns
    .filter((column) => kindOf(column) === 'bytes')
    .map((column) => `coalesce(octet_length(${quoted(column.name)}), 0)`)
  const [[longest] = []] = await query(`SELECT max(${lengths.join(' + ')}) FROM ${quoted(name)}`)
  return Math.min(BATCH, Math.max(1, Math.floor(BATCH_BYTES / Number(longest ?? 1))))
}

/** Makes the function that converts a row from the server's text. It changes the given array. */
export function toPortableRow({ columns }: PortableTable): (row: (string | null)[]) => PortableRow {
  const decoders = columns.map((column) => DECODERS[kindOf(column)])
  return (row) => {
    for (const [index, decode] of decoders.entries()) {
      const text = row[index]
      if (decode !== undefined && typeof text === 'string') row[index] = decode(text)
    }
    return row
  }
}

const DECODERS = {
  integer: undefined,
  boolean: (text: string) => (text === 't' ? '1' : '0'),
  // In JavaScript's format: the server writes 1e21 as 1e+21.
  float: (text: string) => String(Number(text)),
  bytes: undefined,
  text: undefined,
}
