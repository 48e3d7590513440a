import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { takeOutForeign } from '../../src/sqlite/take-out-foreign.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

const MADE = `
  CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL);
  CREATE VIRTUAL TABLE note_search USING fts5 (body);
  CREATE INDEX note_body ON note (body);
  CREATE VIEW note_short AS SELECT id FROM note;
  CREATE TRIGGER note_found AFTER INSERT ON note BEGIN INSERT INTO note_search VALUES (new.body); END`

t.test('only what migrations make stays in a file', async (t) => {
  const { directory, storage, write } = await temporaryMigrations(t)
  const set = write('note', { '001-note.sql': MADE })
  await storage.migrate([set])
  await storage.close()
  const file = join(directory, 'app.db')
  const alter = (text: string) => {
    const database = new Database(file)
    database.exec(text)
    database.close()
  }
  const nothing = { removed: [], differences: [] }
  t.strictSame(await takeOutForeign(file, [set]), nothing)
  t.strictSame(await takeOutForeign(file, []), nothing, 'by the prefixes, without the migrations')

  alter(`
    CREATE TABLE other (id); CREATE VIRTUAL TABLE other_search USING fts5 (body);
    CREATE TRIGGER note_evil AFTER DELETE ON note BEGIN DELETE FROM note_search; END;
    CREATE TRIGGER evil AFTER DELETE ON note BEGIN DELETE FROM note_search; END;
    CREATE INDEX note_id ON note (id)`)
  t.strictSame(await takeOutForeign(file, []), {
    removed: ['the trigger "evil" on "note"', 'the table "other"', 'the table "other_search"'],
    differences: [],
  })
  t.strictSame(await takeOutForeign(file, [set]), {
    removed: ['the trigger "note_evil" on "note"', 'the index "note_id" on "note"'],
    differences: [],
  })
  t.strictSame(await takeOutForeign(file, [set]), nothing)

  alter(`
    DROP TRIGGER note_found; CREATE TRIGGER note_found AFTER INSERT ON note BEGIN DELETE FROM note; END;
    DROP VIEW note_short; CREATE VIEW note_short AS SELECT body AS id FROM note;
    ALTER TABLE note ADD COLUMN more`)
  t.strictSame((await takeOutForeign(file, [set])).differences, [
    'the trigger "note_found" of "note" has another text',
    'the definition of "note_short" has another text',
    'the column "more" of "note" was added',
  ])
})
