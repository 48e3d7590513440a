import type SqliteDatabase from 'better-sqlite3'
import { openDatabase } from '../files/open-database.ts'
import { isLocked } from '../port/errors.ts'
import { Connection } from './connection.ts'
import { lockedFile } from './locked-file.ts'
import { rewriteLeftLog } from './rewrite-log.ts'

/** How long a statement blocks the event loop for a lock; `retryWhileBusy` waits longer. */
const BUSY_TIMEOUT_MS = 5

/**
 * temp_store 2 is MEMORY: requests need no temporary files, for which descriptors or space may be
 * missing.
 */
const common = { trusted_schema: 0, temp_store: 2 }

const SYNCHRONOUS = { FULL: 2, NORMAL: 1, OFF: 0 }

/**
 * The connection that writes. In WAL mode better-sqlite3's default is NORMAL, so the setting is read
 * back.
 * @param synchronous when a commit survives a power failure: FULL once COMMIT returned, NORMAL after
 * `Connection.sync`, OFF never
 */
export function openWriter(file: string, synchronous: keyof typeof SYNCHRONOUS = 'FULL'): Connection {
  const database = openDatabase(file, { timeout: BUSY_TIMEOUT_MS })
  return configured(database, {
    ...common,
    journal_mode: 'wal',
    synchronous: SYNCHRONOUS[synchronous],
    foreign_keys: 1,
    wal_autocheckpoint: 0, // `Checkpoints` does it
  })
}

/** The connection that reads. The writer must be open already. */
export function openReader(file: string): Connection {
  const database = openDatabase(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
  return configured(database, { ...common, query_only: 1 })
}

/**
 * A connection that writes nothing, beside those of a host that may serve from the file.
 * @throws {Error} with its `path`
 */
export function openSeparate(file: string): SqliteDatabase.Database {
  // Not read-only: that mode cannot read the log of a killed host.
  try {
    rewriteLeftLog(file)
    const database = openDatabase(file, { fileMustExist: true, timeout: 5000 })
    database.pragma('query_only = 1')
    database.pragma('trusted_schema = 0')
    return database
  } catch (error) {
    if (isLocked(error)) throw lockedFile(file, error)
    throw Object.assign(error as Error, { path: file })
  }
}

function configured(
  database: SqliteDatabase.Database,
  pragmas: Readonly<Record<string, string | number>>,
): Connection {
  try {
    for (const [name, wanted] of Object.entries(pragmas)) {
      database.pragma(`${name} = ${wanted}`)
      const actual = database.pragma(name, { simple: true })
      if (actual !== wanted) {
        throw new Error(`SQLite keeps ${name} at ${actual} instead of ${wanted}: is this a network disk?`)
      }
    }
    return new Connection(database)
  } catch (error) {
    database.close()
    throw error
  }
}
