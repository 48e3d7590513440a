import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import SqliteDatabase from 'better-sqlite3'

/**
 * The packages that own the tables. Their migrations give the same tables as the host's, including
 * every index.
 */
const migrations = {
  sqlite: [
    '@mortise/host/001-guest',
    '@mortise/api-cart/001-cart',
    '@mortise/api-purchase/001-purchase',
    '@mortise/api-purchase/003-groups.sqlite',
    '@mortise/api-purchase/005-plain-lists.sqlite',
  ],
  postgres: [
    '@mortise/host/001-guest',
    '@mortise/api-cart/001-cart',
    '@mortise/api-purchase/001-purchase',
    '@mortise/api-purchase/002-counting.postgres',
    '@mortise/api-purchase/003-groups.postgres',
    '@mortise/api-purchase/004-parallel.postgres',
    '@mortise/api-purchase/005-plain-lists.postgres',
  ],
}

export function migrationTexts(engine: keyof typeof migrations): string[] {
  return migrations[engine].map((migration) => {
    const [owner, name] = [dirname(migration), basename(migration)]
    const manifest = import.meta.resolve(`${owner}/package.json`)
    return readFileSync(new URL(`migrations/${name}.sql`, manifest), 'utf8')
  })
}

/** A new database with the host's tables and the host's durability. */
export function openDatabase(file: string): SqliteDatabase.Database {
  const database = new SqliteDatabase(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  for (const text of migrationTexts('sqlite')) database.exec(text)
  return database
}
