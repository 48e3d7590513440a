import type { Client } from 'pg'
import { BATCH, type KeyedRow, keyColumns, kindOf, type PortableTable } from '../archive/portable-table.ts'
import { quoted } from '../port/quoted.ts'
import { toDatabaseError } from './database-error.ts'

const asText = { getTypeParser: () => String }

/**
 * The rows of a table in batches, as of the moment in which it begins: in the order of its key where `ordered`. Within a
 * transaction, in which nothing else may read a table so.
 */
export async function* readRows(
  client: Client,
  table: PortableTable,
  { ordered }: { readonly ordered: boolean },
): AsyncGenerator<KeyedRow[]> {
  const columns = table.columns.map(({ name }) => quoted(name))
  const order = keyColumns(table).map(({ name, kind }) => {
    // Byte by byte, as SQLite does.
    return `${quoted(name)}${kind === 'text' ? '::text COLLATE "C"' : ''} NULLS FIRST`
  })
  const query = async (text: string): Promise<unknown[][]> => {
    try {
      return (await client.query({ text, rowMode: 'array', types: asText })).rows
    } catch (error) {
      throw toDatabaseError(error, text)
    }
  }
  const decoders = table.columns.map((column) => DECODERS[kindOf(column)])
  await query(
    `DECLARE rows NO SCROLL CURSOR FOR SELECT ${['ctid', ...columns].join(', ')} FROM ${quoted(table.name)}` +
      (ordered && order.length > 0 ? ` ORDER BY ${order.join(', ')}` : ''),
  )
  // The server looks for the next ones while these are used.
  const fetch = () => {
    const fetched = query(`FETCH ${BATCH} FROM rows`) as Promise<(string | null)[][]>
    fetched.catch(() => {})
    return fetched
  }
  let next = fetch()
  for (;;) {
    const batch = await next
    if (batch.length === 0) break
    next = fetch()
    yield batch.map(([place, ...row]) => {
      for (const [index, decode] of decoders.entries()) {
        const text = row[index]
        if (decode !== undefined && typeof text === 'string') row[index] = decode(text)
      }
      return { row, place: place as string }
    })
  }
  await query('CLOSE rows')
}

const DECODERS = {
  integer: undefined,
  boolean: (text: string) => (text === 't' ? '1' : '0'),
  // As this program writes it: 1e+21 is 1e21 to the server.
  float: (text: string) => String(Number(text)),
  bytes: undefined,
  text: undefined,
}
