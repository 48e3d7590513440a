import { readFileSync } from 'node:fs'
import type { Engine } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'

/** The migrations that make the tables, with every index that the host has. */
export const migrationTexts = (engine: Engine): string[] =>
  ['host/001-host', 'api-cart/001-cart', `api-purchase/001-purchase.${engine}`].map((migration) => {
    const [owner, name] = migration.split('/')
    const manifest = import.meta.resolve(`@mortise/${owner}/package.json`)
    return readFileSync(new URL(`migrations/${name}.sql`, manifest), 'utf8')
  })

/** A new database with the host's tables and the host's durability. */
export function openDatabase(file: string): SqliteDatabase.Database {
  const database = new SqliteDatabase(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  for (const text of migrationTexts('sqlite')) database.exec(text)
  return database
}
