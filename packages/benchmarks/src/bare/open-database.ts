import { readFileSync } from 'node:fs'
import SqliteDatabase from 'better-sqlite3'

/** Where the tables come from: the packages that own them, so that they are the host's to the last index. */
const migrations = [
  ['@mortise/host', 'migrations/001-guest.sql'],
  ['@mortise/api-cart', 'migrations/001-cart.sql'],
  ['@mortise/api-purchase', 'migrations/001-purchase.sql'],
] as const

/** A new database with the tables of the host, as durable as the host's. */
export function openDatabase(file: string): SqliteDatabase.Database {
  const database = new SqliteDatabase(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  for (const [owner, path] of migrations) {
    const manifest = import.meta.resolve(`${owner}/package.json`)
    database.exec(readFileSync(new URL(path, manifest), 'utf8'))
  }
  return database
}
