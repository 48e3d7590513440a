import { parentPort, workerData } from 'node:worker_threads'
import { Sql, type SqlValue } from '@mortise/module-sdk/sql'
import { MOST_ROWS } from '../port/read-limit.ts'
import type { Connection } from './connection.ts'
import { openReader } from './open-connections.ts'
import { type SerializedError, serializeError } from './serialized-error.ts'

// A thread for reads of many rows, which would block the host's event loop. It responds to `read`,
// and to each `more`, with a piece of the rows, so that their reader does other work in between.

export type ReadOrder =
  /** Reads until `end` show one moment. */
  | { readonly kind: 'begin' | 'end' | 'schemaChanged' | 'more' }
  | {
      readonly kind: 'read'
      readonly strings: readonly string[]
      readonly values: readonly SqlValue[]
      readonly want: 'rows' | 'first'
    }

export type ReadPiece =
  | { readonly rows: unknown[]; readonly isLast: boolean }
  | { readonly error: SerializedError }

/** The size limits of a piece, in rows, and in characters and bytes. */
const PIECE = { rows: 500, length: 256 * 1024 }

const { file } = workerData as { readonly file: string }
let opened: Connection | undefined
let rows: Iterator<unknown> | undefined
/** Why a snapshot could not begin: the next read reports it. */
let trouble: unknown
let isSchemaNew = false

parentPort?.on('message', (order: ReadOrder) => {
  if (order.kind === 'read' || order.kind === 'more') {
    parentPort?.postMessage(read(order))
  } else if (order.kind === 'schemaChanged') {
    // A connection in the middle of a read prepares nothing.
    isSchemaNew = true
  } else {
    try {
      rows?.return?.()
      if (order.kind === 'begin') connection().begin()
      else if (opened?.inTransaction) opened.rollback()
    } catch (error) {
      trouble = error
    }
  }
})

function connection(): Connection {
  opened ??= openReader(file)
  return opened
}

function read(order: ReadOrder): ReadPiece {
  try {
    if (order.kind === 'read') rows = begin(order)
    return nextPiece()
  } catch (error) {
    return { error: serializeError(error) }
  }
}

function begin({ strings, values, want }: ReadOrder & { kind: 'read' }): Iterator<unknown> {
  if (trouble !== undefined) {
    const error = trouble
    trouble = undefined
    throw error
  }
  if (isSchemaNew) connection().schemaChanged()
  isSchemaNew = false
  const query = new Sql(strings, values)
  if (want === 'rows') return limited(connection().each(query))
  const row = connection().first(query)
  return (row === undefined ? [] : [row])[Symbol.iterator]()
}

/** One row above the limit, so that the excess is noticed. */
function* limited(all: Iterable<unknown>): Generator<unknown> {
  let count = 0
  for (const row of all) {
    yield row
    count += 1
    if (count > MOST_ROWS) return
  }
}

function nextPiece(): ReadPiece {
  const piece: unknown[] = []
  let length = 0
  while (piece.length < PIECE.rows && length < PIECE.length) {
    const next = rows?.next()
    if (next === undefined || next.done) return { rows: piece, isLast: true }
    piece.push(next.value)
    for (const value of Object.values(next.value as object))
      if (typeof value === 'string' || value instanceof Uint8Array) length += value.length
  }
  return { rows: piece, isLast: false }
}
