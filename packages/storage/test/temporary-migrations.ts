import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Engine, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import type { Open } from './engines.ts'
import { temporaryStorage } from './temporary-storage.ts'

/** What a test has made, in both engines' catalogs. */
const OBJECTS = {
  sqlite: sql`
    SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' AND name <> 'mortise_migration' ORDER BY name`,
  postgres: sql`
    SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
      AND relkind IN ('r', 'i') AND relname NOT LIKE '%_pkey' AND relname <> 'mortise_migration' ORDER BY relname`,
}

/** A database, and folders of migrations in a folder of the test's own. */
export async function temporaryMigrations(t: Test, open?: Open, engine: Engine = 'sqlite') {
  const directory = t.testdir()
  const file = join(directory, 'app.db')
  const storage = await (open ? open('', { file }) : temporaryStorage(t, '', { file }))
  const write = (module: string, files: Record<string, string>) => {
    const folder = join(directory, module)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return { module, directory: folder, tables: module }
  }
  const objects = async () => (await storage.many<{ name: string }>(OBJECTS[engine])).map(({ name }) => name)
  return { directory, storage, write, objects }
}
