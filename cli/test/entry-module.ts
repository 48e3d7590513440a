import type { SampleOptions } from '../../packages/installer/test/sample-module.ts'

/**
 * A module with data: `POST /entry` writes one row to each of two tables, in one transaction; `GET /entry` counts
 * them.
 */
export function entryModule(options: Pick<SampleOptions, 'version'> = {}): SampleOptions {
  return {
    ...options,
    id: 'entry',
    manifest: { routes: ['GET /entry', 'POST /entry'], tables: 'entry', migrations: 'migrations' },
    files: {
      'migrations/001-entry.sql': `CREATE TABLE entry (id INTEGER PRIMARY KEY, filler BLOB NOT NULL);
        CREATE TABLE entry_twin (id INTEGER PRIMARY KEY REFERENCES entry (id));`,
      'migrations/001-entry.down.sql': 'DROP TABLE entry_twin; DROP TABLE entry',
    },
    main: `import { respond, defineModule, one, run, sql } from '@mortise/module-sdk'
export default defineModule('entry').plugin(async (app, { database }) => {
  const config = { access: 'public' }
  const counted = sql\`SELECT (SELECT count(*) FROM entry) AS entries, (SELECT count(*) FROM entry_twin) AS twins\`
  app.get('/entry', { config }, async () => database.one(counted))
  app.post('/entry', { config }, (request) => request.transaction(function* () {
    const { id } = yield* one(sql\`INSERT INTO entry (filler) VALUES (randomblob(2000)) RETURNING id\`)
    yield* run(sql\`INSERT INTO entry_twin VALUES (\${id})\`)
    return respond(201, { id })
  }))
})
`,
  }
}
