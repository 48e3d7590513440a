import { join } from 'node:path'
import { DatabaseError, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import type { Test } from 'tap'
import { type OpenOptions, openStorage } from '../src/open-storage.ts'
import type { Storage } from '../src/port/storage.ts'
import { Connection } from '../src/sqlite/connection.ts'

/** A database in a folder of the test's own, with this schema, closed when the test ends. */
export async function temporaryStorage(
  t: Test,
  schema: string,
  options: Partial<OpenOptions> & { readonly file?: string } = {},
): Promise<Storage & { file: string }> {
  const file = options.file ?? join(t.testdir(), 'data', 'app.db')
  const onFatal = (error: Error) => t.fail(`fatal: ${error.message}`)
  const storage = await openStorage({ onFatal, ...options, file })
  t.teardown(() => storage.close())
  if (schema !== '') {
    const database = new SqliteDatabase(file)
    database.exec(schema)
    database.close()
  }
  return Object.assign(storage, { file })
}

/** Nothing of it is on a disk. */
export class MemoryConnection extends Connection {
  override async sync(): Promise<void> {}
}

/** A connection to a database in memory, with this schema. */
export function memoryConnection(t: Test, schema: string): Connection {
  const database = new SqliteDatabase(':memory:')
  t.teardown(() => database.close())
  database.exec(schema)
  return new MemoryConnection(database)
}

/** Two tables with every kind of constraint; `late` has a deferred key, which migrations may not make. */
export const SCHEMA = `
  CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, quantity INTEGER NOT NULL CHECK (quantity > 0));
  CREATE TABLE child (id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item (id));
  CREATE TABLE late (id INTEGER PRIMARY KEY, item INTEGER REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED);
`

export const insertItem = (id: number, name: string, quantity = 1) =>
  sql`INSERT INTO item (id, name, quantity) VALUES (${id}, ${name}, ${quantity})`

/** The error of a statement that waits for another process. */
export const locked = () =>
  new DatabaseError('busy', 'database is locked', {
    cause: Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' }),
  })
