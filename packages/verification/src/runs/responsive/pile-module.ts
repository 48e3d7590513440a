import { moduleJson, writeFiles } from '../../harness/write-files.ts'

/** A careless module: its lists scan all rows and return many. Version 1.1.0 changes each row. */
const filesOf = (version: '1.0.0' | '1.1.0') => ({
  'package.json': moduleJson('pile', version, {
    routes: ['GET /pile', 'GET /pile/count', 'POST /pile'],
    tables: 'pile',
    migrations: 'migrations',
  }),
  'migrations/001-pile.sql': `
    CREATE TABLE pile (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, note TEXT NOT NULL);`,
  'migrations/001-pile.down.sql': 'DROP TABLE pile;',
  ...(version === '1.1.0' && {
    'migrations/002-weight.sql': `
      ALTER TABLE pile ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
      UPDATE pile SET weight = length(note) + id % 100;
      CREATE INDEX pile_by_weight ON pile (weight);`,
    'migrations/002-weight.down.sql': 'DROP INDEX pile_by_weight; ALTER TABLE pile DROP COLUMN weight;',
  }),
  'dist/index.js': `
    import { respond, defineModule, run, sql } from '@mortise/module-sdk'
    export default defineModule('pile').plugin(async (app, { database }) => {
      const config = { access: 'public' }
      app.get('/pile', { config }, async () => ({
        data: await database.many(sql\`SELECT id, kind FROM pile WHERE note = 'nothing' ORDER BY kind\`)
      }))
      app.get('/pile/count', { config }, () => database.one(sql\`SELECT count(*) AS count FROM pile WHERE kind = 'kind-3'\`))
      app.post('/pile', { config }, (request) => request.transaction(function* () {
        yield* run(sql\`INSERT INTO pile (kind, note) VALUES ('new', '')\`)
        return respond(201, {})
      }))
    })`,
})

export const writePileModule = (folder: string, version: '1.0.0' | '1.1.0'): Promise<string> =>
  writeFiles(folder, filesOf(version))
