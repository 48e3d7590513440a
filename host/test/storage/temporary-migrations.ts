import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { temporaryStorage } from './temporary-storage.ts'

/** A database and folders of migrations, in a folder of the test's own. */
export async function temporaryMigrations(t: Test) {
  const directory = t.testdir()
  const storage = await temporaryStorage(t, '', { file: join(directory, 'app.db') })
  const write = (module: string, files: Record<string, string>) => {
    const folder = join(directory, module)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return { module, directory: folder, tables: module }
  }
  const objects = async () =>
    (
      await storage.many<{ name: string }>(sql`
      SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' AND name <> 'mortise_migration' ORDER BY name`)
    ).map(({ name }) => name)
  return { directory, storage, write, objects }
}
