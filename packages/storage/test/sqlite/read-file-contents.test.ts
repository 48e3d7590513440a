import { run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { readFileContents } from '../../src/sqlite/read-file-contents.ts'
import { temporaryStorage } from '../temporary-storage.ts'

t.test('counts the rows of every table while a host has it open, what is in its log included', async (t) => {
  const storage = await temporaryStorage(
    t,
    `CREATE TABLE entry (id INTEGER PRIMARY KEY AUTOINCREMENT);
     CREATE TABLE "entry of ""two"" words" (id INTEGER);
     CREATE VIRTUAL TABLE entry_text USING fts5(body);`,
  )
  for (let time = 0; time < 3; time++)
    await storage.transaction(() => run(sql`INSERT INTO entry DEFAULT VALUES`))
  t.strictSame(readFileContents(storage.file).rows, { entry: 3, 'entry of "two" words': 0, entry_text: 0 })
})
