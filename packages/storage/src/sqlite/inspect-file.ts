import { existsSync } from 'node:fs'
import type { Transaction } from '@mortise/module-sdk'
import type SqliteDatabase from 'better-sqlite3'
import { compareMigrations, type DatabaseInspection } from '../migrations/compare-migrations.ts'
import { isLocked } from '../port/errors.ts'
import type { LedgerEntry, MigrationSet } from '../port/storage.ts'
import { compareTables } from './compare-tables.ts'
import { Connection } from './connection.ts'
import { lockedFile } from './locked-file.ts'
import { openSeparate } from './open-connections.ts'
import { snapshotOn } from './read-file.ts'
import { readLedger } from './schema.ts'

/**
 * Checks a database file on a connection of its own that writes nothing, while a host may serve
 * from it. Takes as long as reading the file.
 *
 * @param quick leaves out what reads all rows, damage and orphans, and what runs migrations
 * @returns undefined without a file
 */
export async function inspectFile<Own>(
  file: string,
  sets: readonly MigrationSet[],
  read: (ledger: readonly LedgerEntry[]) => Transaction<Own>,
  quick = false,
): Promise<DatabaseInspection<Own> | undefined> {
  const nothing = {
    own: undefined,
    damage: [],
    orphans: [],
    pending: [],
    ahead: [],
    changed: [],
    unchecked: [],
    unlike: [],
  }
  if (!existsSync(file)) return undefined
  const database = openSeparate(file)
  try {
    const damage = quick ? [] : damageIn(database)
    if (damage.length > 0) return { ...nothing, damage }
    const connection = new Connection(database)
    const ledger = readLedger(connection)
    const { current, ...migrations } = await compareMigrations(sets, ledger)
    return {
      ...nothing,
      own: snapshotOn(connection, () => read(ledger)),
      size: sizeOf(database),
      orphans: quick ? [] : orphansIn(database),
      ...migrations,
      ...(quick ? {} : await compareTables(connection, current)),
    }
  } catch (error) {
    if (isLocked(error)) throw lockedFile(file, error)
    const { code, message } = error as { code?: string; message: string }
    // Write errors, as on a full disk, are no damage.
    const isWriting = /^SQLITE_IOERR_(SHM|WRITE|FSYNC|TRUNCATE)/.test(code ?? '')
    if (!isWriting && /^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(code ?? ''))
      return { ...nothing, damage: [message] }
    throw Object.assign(error as Error, { path: file })
  } finally {
    database.close()
  }
}

function damageIn(database: SqliteDatabase.Database): string[] {
  // Each row is looked up in each index.
  database.pragma('cache_size = -65536')
  const lines = database.pragma('integrity_check(10)') as { integrity_check: string }[]
  return lines.map((line) => line.integrity_check).filter((line) => line !== 'ok')
}

function sizeOf(database: SqliteDatabase.Database): { bytes: number; free: number } {
  const number = (name: string) => database.pragma(name, { simple: true }) as number
  const page = number('page_size')
  return { bytes: number('page_count') * page, free: number('freelist_count') * page }
}

function orphansIn(database: SqliteDatabase.Database): DatabaseInspection['orphans'] {
  const found = database.pragma('foreign_key_check') as { table: string; parent: string }[]
  const groups = Map.groupBy(found, ({ table, parent }) => JSON.stringify([table, parent]))
  return [...groups.values()].map((rows) => {
    const { table, parent } = rows[0] as { table: string; parent: string }
    return { table, parent, rows: rows.length }
  })
}
