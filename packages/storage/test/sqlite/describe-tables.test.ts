import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { MigrationError } from '../../src/port/errors.ts'
import { describeTables } from '../../src/sqlite/describe-tables.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

t.test('the tables that all migrations of a set make, by name, with their columns', async (t) => {
  const { write, objects } = await temporaryMigrations(t)
  const set = write('note', {
    '001-note.sql': `CREATE TABLE note (seq INTEGER PRIMARY KEY NOT NULL, body TEXT NOT NULL, size BIGINT NOT NULL DEFAULT 0);
      CREATE INDEX note_size ON note (size); CREATE TABLE note_old (id);`,
    '002-note.sql': `DROP TABLE note_old; ALTER TABLE note ADD COLUMN more TEXT;
      CREATE TABLE note_tag (id TEXT NOT NULL, twice TEXT NOT NULL AS (id || id))`,
  })
  const column = (name: string, type: string, required: boolean) => ({ name, type, required })
  t.strictSame(await describeTables(set), [
    {
      name: 'note',
      columns: [
        column('seq', 'INTEGER', false),
        column('body', 'TEXT', true),
        column('size', 'BIGINT', false),
        column('more', 'TEXT', false),
      ],
    },
    { name: 'note_tag', columns: [column('id', 'TEXT', true), column('twice', 'TEXT', false)] },
  ])
  t.strictSame(await objects(), [], 'nothing of it is in the database of anybody')
})

const TRIGGER = 'CREATE TABLE note (id); CREATE TRIGGER note_a AFTER INSERT ON note BEGIN'

t.test('refused and failed migrations have the same message in a dry run', async (t) => {
  const { write } = await temporaryMigrations(t)
  const failing: [text: string, message: RegExp][] = [
    ['CREATE TABLE', /001-note\.sql of note failed: incomplete input/],
    [
      'PRAGMA user_version = 1',
      /001-note\.sql of note failed: PRAGMA belongs to the storage engine: leave it out\. /,
    ],
    ['CREATE TABLE note (id);;\n/* ; */; COMMIT; DROP TABLE note', /failed: COMMIT belongs/],
    [
      "CREATE TABLE note (id); INSERT INTO note VALUES (';'); -- ;\nATTACH 'a' AS b",
      /failed: ATTACH belongs/,
    ],
    [`${TRIGGER} SELECT 1; END; END`, /failed: END belongs/],
    [`${TRIGGER} SELECT RAISE (/**/ROLLBACK, 'no'); END`, /conflict in "note" ends other transactions/],
    ['CREATE TABLE note (id UNIQUE ON CONFLICT/**/ROLLBACK)', /conflict in "note" ends other transactions/],
    [
      'CREATE TABLE note (id PRIMARY KEY, up REFERENCES note DEFERRABLE INITIALLY/**/DEFERRED)',
      /INITIALLY DEFERRED/,
    ],
    ["INSERT INTO other VALUES ('x')", /no such table: other/],
  ]
  for (const [text, message] of failing) {
    const error = await describeTables(write('note', { '001-note.sql': text })).catch((error) => error)
    t.type(error, MigrationError, text)
    t.match(error.message, message)
  }
  const undone = write('note', {
    '001-note.sql': 'CREATE TABLE note (id)',
    '001-note.down.sql': 'DROP TABLE note; PRAGMA foreign_keys = OFF',
  })
  await t.rejects(describeTables(undone), {
    message:
      'the down migration of 001-note of note is refused: PRAGMA belongs to the storage engine: leave it out',
  })
})

t.test('the same words as data, names and comments are not refused', async (t) => {
  const { write } = await temporaryMigrations(t)
  for (const text of [
    "CREATE TABLE note (id); -- COMMIT;\nINSERT INTO note VALUES ('x; COMMIT; '), ('it''s; PRAGMA');",
    'CREATE TABLE note ("begin; COMMIT", [;ATTACH;]); SELECT 1 /* ; COMMIT',
    `${TRIGGER} SELECT CASE 1 WHEN 1 THEN 2 END; SELECT ';' /* ; */; END; SELECT 1; -- END;`,
    "CREATE TABLE note (id UNIQUE); INSERT OR IGNORE INTO note VALUES ('OR ROLLBACK');;; ",
    'CREATE TABLE note (id PRIMARY KEY, up REFERENCES note DEFERRABLE INITIALLY IMMEDIATE)',
    'CREATE TABLE note (id); WITH one AS (SELECT 1) INSERT INTO note SELECT * FROM one; REINDEX; ANALYZE',
  ])
    await t.resolves(describeTables(write('note', { '001-note.sql': text })), text)
})

t.test('an endless statement ends with its caller', async (t) => {
  const { write } = await temporaryMigrations(t)
  const text = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n'
  const set = write('note', { '001-note.sql': text })
  const file = new URL('../../src/sqlite/describe-tables.ts', import.meta.url)
  const asking = `import { describeTables } from '${file}'; describeTables(${JSON.stringify(set)}, 600_000)`
  const asker = spawn(process.execPath, ['--input-type=module', '--eval', asking], { stdio: 'ignore' })
  t.teardown(() => asker.kill('SIGKILL'))
  const child = await until(() => childOf(asker.pid as number))
  asker.kill('SIGKILL')
  await until(() => isGone(child) || undefined)
})

/** The first child of a process, by what Linux says. */
function childOf(pid: number): string | undefined {
  const file = `/proc/${pid}/task/${pid}/children`
  return readFileSync(file, 'utf8').trim().split(' ')[0] || undefined
}

/** A process that nobody has waited for stays in the list, without its command. */
const isGone = (pid: string) =>
  !existsSync(`/proc/${pid}/cmdline`) || readFileSync(`/proc/${pid}/cmdline`, 'utf8') === ''

async function until<Found>(look: () => Found | undefined): Promise<Found> {
  for (;;) {
    const found = look()
    if (found !== undefined) return found
    await setTimeout(50)
  }
}

t.test('a statement without an end, or without a limit, is ended', async (t) => {
  const { write } = await temporaryMigrations(t)
  const numbers = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'
  const endless = write('note', { '001-note.sql': `${numbers} SELECT max(i) FROM n` })
  await t.rejects(describeTables(endless, 1000), /did not end within 1 s/)
  const large = write('note', {
    '001-note.sql': `CREATE TABLE note AS ${numbers} SELECT randomblob(1000000) AS b FROM n`,
  })
  // A slow machine does not fill it in time.
  await t.rejects(describeTables(large), /database or disk is full|did not end within 10 s/)
})
