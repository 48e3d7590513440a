import { createRequire } from 'node:module'
import { dirname, resolve, sep } from 'node:path'
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

interface Native {
  Database: new (file: unknown, ...more: unknown[]) => object
}

/**
 * From now on this process opens databases only in `folder` and in memory, and they reach no other file.
 * SQLite reads and writes files by itself, whatever Node's permission model says.
 */
export function openNoFileOutside(folder: string): void {
  const { cache } = createRequire(import.meta.url)
  const isInside = (file: string) =>
    file === ':memory:' || (!file.startsWith('file:') && resolve(file).startsWith(folder + sep))
  const refuse = () => {
    throw new Error('this process may open no database outside of its folder')
  }
  for (const [file, loaded] of Object.entries(cache)) {
    if (!/better-sqlite3.*\.node$/.test(file)) continue
    const native: Native = loaded?.exports
    const { Database } = native
    const { prototype } = Database
    native.Database = function inMemory(file: unknown, ...more: unknown[]) {
      return isInside(String(file)) ? new Database(String(file), ...more) : refuse()
    } as unknown as typeof Database
    Object.assign(prototype, { constructor: refuse, loadExtension: refuse, backup: refuse })
    for (const name of ['prepare', 'exec']) {
      const run: (text: string, ...more: unknown[]) => unknown = Reflect.get(prototype, name)
      Object.assign(prototype, {
        [name](this: unknown, text: string, ...more: unknown[]) {
          return reachesFiles(text) ? refuse() : run.call(this, text, ...more)
        },
      })
    }
  }
}

const reachesFiles = (text: string) =>
  /(^|;)\s*(attach|vacuum)\b/i.test(String(text).replace(/--.*|\/\*[\s\S]*?\*\//g, ' '))
