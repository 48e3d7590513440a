import type { Transaction } from '@mortise/module-sdk'
import { openDatabase } from '../files/open-database.ts'
import { isLocked } from '../port/errors.ts'
import type { LedgerEntry } from '../port/storage.ts'
import { Connection, driveOn } from './connection.ts'
import { lockedFile } from './locked-file.ts'
import { openSeparate } from './open-connections.ts'
import { readLedger } from './schema.ts'

/**
 * Reads a SQLite file as of one moment; others may have it open.
 * @throws {Error} with its `path`
 */
export function readDatabaseFile<Result>(
  file: string,
  steps: (ledger: readonly LedgerEntry[]) => Transaction<Result>,
): Result {
  const database = openSeparate(file)
  try {
    const connection = new Connection(database)
    return snapshotOn(connection, () => steps(readLedger(connection)))
  } catch (error) {
    if (isLocked(error)) throw lockedFile(file, error)
    throw Object.assign(error as Error, { path: file })
  } finally {
    database.close()
  }
}

/** Changes a SQLite file that nobody has open, in one transaction. */
export function changeDatabaseFile<Result>(file: string, steps: () => Transaction<Result>): Result {
  const database = openDatabase(file)
  try {
    const connection = new Connection(database)
    connection.begin()
    const result = driveOn(connection, steps)
    const failure = connection.commit()
    if (failure !== undefined) throw failure
    return result
  } finally {
    database.close()
  }
}

/** For a connection without an open transaction. */
export function snapshotOn<Result>(connection: Connection, steps: () => Transaction<Result>): Result {
  connection.database.exec('BEGIN')
  try {
    return driveOn(connection, steps)
  } finally {
    if (connection.inTransaction) connection.rollback()
  }
}
