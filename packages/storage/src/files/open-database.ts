import { dirname, resolve } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { isWritable } from './is-writable.ts'

/**
 * Opens a SQLite file, or `:memory:`. SQLite needs a folder for temporary files, for example for a
 * large sort. The first database of the process sets it to its own folder, unless SQLITE_TMPDIR
 * names a writable one: the system's may be read-only.
 */
export function openDatabase(file: string, options?: SqliteDatabase.Options): SqliteDatabase.Database {
  // SQLite reads the variable once, when the first database is opened.
  if (file !== ':memory:' && !isWritable(process.env.SQLITE_TMPDIR ?? ''))
    process.env.SQLITE_TMPDIR = dirname(resolve(file))
  return new SqliteDatabase(file, options)
}
