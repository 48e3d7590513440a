import { existsSync } from 'node:fs'
import type SqliteDatabase from 'better-sqlite3'
import { readMigrations } from '../migration-files.ts'
import { planMigrations } from '../plan-migrations.ts'
import { type AppliedMigration, type LedgerEntry, MigrationError, type MigrationSet } from '../storage.ts'
import { Connection } from './connection.ts'
import { readLedger } from './ledger.ts'
import { openBeside } from './open-connections.ts'

/** What is amiss with a database; all empty where nothing is. */
export interface DatabaseInspection {
  /** What SQLite's own check finds: pages, indexes, constraints. */
  readonly damage: readonly string[]
  /** Rows that refer to others which are gone. */
  readonly orphans: readonly { readonly table: string; readonly parent: string; readonly rows: number }[]
  /** Migrations that a set has and the database not. */
  readonly pending: readonly AppliedMigration[]
  /** Migrations that the database has, beyond the last one of their set. */
  readonly ahead: readonly AppliedMigration[]
  /** Why a set cannot be held against the database: what was applied has changed or is gone. */
  readonly unlike: readonly string[]
}

/**
 * Looks a database file through, on a connection of its own that writes nothing: a host may serve from it
 * meanwhile, and goes on doing so. It takes as long as reading the file does.
 *
 * @returns undefined where there is no file yet
 */
export async function inspectDatabase(
  file: string,
  sets: readonly MigrationSet[],
): Promise<DatabaseInspection | undefined> {
  const nothing = { damage: [], orphans: [], pending: [], ahead: [], unlike: [] }
  if (!existsSync(file)) return undefined
  const database = openBeside(file)
  try {
    const damage = damageIn(database)
    if (damage.length > 0) return { ...nothing, damage }
    const ledger = readLedger(new Connection(database))
    return { ...nothing, orphans: orphansIn(database), ...(await compare(sets, ledger)) }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (/^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(code ?? '')) return { ...nothing, damage: [message] }
    throw error
  } finally {
    database.close()
  }
}

function damageIn(database: SqliteDatabase.Database): string[] {
  const lines = database.pragma('integrity_check(10)') as { integrity_check: string }[]
  return lines.map((line) => line.integrity_check).filter((line) => line !== 'ok')
}

function orphansIn(database: SqliteDatabase.Database): DatabaseInspection['orphans'] {
  const found = database.pragma('foreign_key_check') as { table: string; parent: string }[]
  const groups = Map.groupBy(found, ({ table, parent }) => JSON.stringify([table, parent]))
  return [...groups.values()].map((rows) => {
    const { table, parent } = rows[0] as { table: string; parent: string }
    return { table, parent, rows: rows.length }
  })
}

async function compare(sets: readonly MigrationSet[], ledger: readonly LedgerEntry[]) {
  const pending: AppliedMigration[] = []
  const ahead: AppliedMigration[] = []
  const unlike: string[] = []
  for (const set of sets) {
    const { module } = set
    try {
      const files = await readMigrations(set, 'sqlite')
      const last = files.at(-1)?.name ?? ''
      pending.push(...planMigrations(set, files, ledger).map(({ name }) => ({ module, name })))
      const further = ledger.filter((entry) => entry.module === module && entry.name > last)
      ahead.push(...further.map(({ name }) => ({ module, name })))
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      unlike.push(error.message)
    }
  }
  return { pending, ahead, unlike }
}
