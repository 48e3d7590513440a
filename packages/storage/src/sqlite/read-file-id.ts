import { existsSync } from 'node:fs'
import { type DatabaseId, idByLedger, recordedId } from '../database-id.ts'
import type { LedgerEntry } from '../storage.ts'
import { Connection } from './connection.ts'
import { readLedger } from './ledger.ts'
import { openBeside } from './open-connections.ts'

/** The id of the database that is open. */
export function idIn(connection: Connection, ledger: readonly LedgerEntry[]): DatabaseId {
  const id = idByLedger(ledger)
  return id === 'recorded' ? (connection.first<{ id: string }>(recordedId)?.id ?? null) : id
}

/** The id of a SQLite file that others may have open; undefined also where there is no file. */
export function readFileId(file: string): DatabaseId {
  if (!existsSync(file)) return undefined
  const database = openBeside(file)
  try {
    const connection = new Connection(database)
    return idIn(connection, readLedger(connection))
  } finally {
    database.close()
  }
}
