import { join } from 'node:path'
import t from 'tap'
import { noteVersions } from '../note-versions.ts'
import { skip, temporarySchema, useDatabase } from '../postgres-schema.ts'

const named = /the table "report" of the role "\w+_eve"/

t.test(
  'what other roles have in the schema is left alone, and named where it is in the way',
  { skip },
  async (t) => {
    const { directory, root, run, v1, v2 } = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour')
    const { schema, url, execute } = await temporarySchema(t)
    const [ann, eve] = [`${schema}_ann`, `${schema}_eve`]
    await execute(`CREATE ROLE ${ann} LOGIN PASSWORD 'ann'; CREATE ROLE ${eve};
    CREATE SCHEMA ${schema} AUTHORIZATION ${ann}; GRANT ALL ON SCHEMA ${schema} TO ${eve};
      DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO ${ann}', current_database()); END $$`)
    t.teardown(async () => {
      for (const role of [eve, ann]) await execute(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)
    })
    await useDatabase(directory, Object.assign(new URL(url), { username: ann, password: 'ann' }).href)
    for (const version of [v1, v2]) t.match(await run('module-install', '--yes', version), { exitCode: 0 })
    await execute(`INSERT INTO note (body) VALUES ('kept');
    GRANT SELECT, REFERENCES ON note TO ${eve};
    SET ROLE ${eve};
    CREATE TABLE report (id TEXT); INSERT INTO report VALUES ('secret');
    CREATE TABLE note_report (id TEXT); INSERT INTO note_report VALUES ('secret')`)

    const file = join(root, 'backup.tgz')
    const backup = await run('backup', file)
    t.match(backup, { exitCode: 0, stderr: named })
    t.match(backup.stderr, '"note_report"', 'although its name is one of the module')
    const verified = await run('backup', 'verify', file)
    t.match(verified, { exitCode: 0, json: { rows: { note: 1 } } })
    t.notMatch(verified.stdout, 'report')
    t.match((await run('doctor')).json.findings, [{ id: 'foreign-objects', message: named }])

    await execute(`SET ROLE ${eve}; CREATE VIEW colours AS SELECT colour FROM note`)
    t.match((await run('doctor')).json.findings, [
      { message: /the view "colours" of the role "\w+", on note/ },
    ])
    const blocked = await run('module-rollback', '--yes')
    t.match(blocked, {
      exitCode: 4,
      json: { error: { message: /view colours depends on column colour of table/ } },
    })
    t.match(blocked.json.error.message, 'First drop that, or ask its owner to')
    await execute(`SET ROLE ${eve}; DROP VIEW colours`)
    t.match(await run('module-rollback', '--yes'), { exitCode: 0 })

    await execute(`SET ROLE ${eve}; CREATE VIEW note_bodies AS SELECT body FROM note`)
    const refused = await run('module-remove', 'note', '--purge', '--yes')
    t.match(refused, { exitCode: 4, json: { error: { message: /view note_bodies depends on table/ } } })
    t.match((await run('module-list')).json.modules, [{ id: 'note', state: 'active' }], 'nothing was changed')
    await execute(`SET ROLE ${eve}; DROP VIEW note_bodies`)
    t.match(await run('module-remove', 'note', '--purge', '--yes'), {
      exitCode: 0,
      json: { purged: [{ tables: ['note'] }] },
    })
    t.match(await execute('SELECT id FROM report UNION ALL SELECT id FROM note_report'), [
      { id: 'secret' },
      { id: 'secret' },
    ])
  },
)
