import { hostVersion } from '@mortise/host'
import { type Published, published } from '../../../../installer/test/fake-registry.ts'

/**
 * A module with a table and an npm dependency. Version 2 adds a column, with a down migration, and
 * a setting.
 */
const note = (version: string, columns: string, json: object, files: Readonly<Record<string, string>>) =>
  published(
    {
      name: '@sample/note',
      version,
      type: 'module',
      exports: './index.js',
      peerDependencies: { '@mortise/module-sdk': '^1.0.0' },
      dependencies: { 'sample-dependency': '1.0.0' },
      mortise: {
        id: 'note',
        host: `^${hostVersion}`,
        routes: ['GET /note', 'POST /note'],
        tables: 'note',
        migrations: 'migrations',
        ...json,
      },
    },
    {
      'migrations/001-note.sql': 'CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT NOT NULL)',
      'migrations/001-note.down.sql': 'DROP TABLE note',
      'index.js': `import { respond, defineModule, run, sql } from '@mortise/module-sdk'
import { dependency } from 'sample-dependency'
export default defineModule('note').plugin(async (app, { database }) => {
  const config = { access: 'public' }
  app.get('/note', { config }, async () => ({
    version: '${version}',
    dependency,
    notes: await database.many(sql\`SELECT ${columns} FROM note ORDER BY id\`)
  }))
  app.post('/note', { config }, (request) => request.transaction(function* () {
    yield* run(sql\`INSERT INTO note (body) VALUES ('kept')\`)
    return respond(201, {})
  }))
})
`,
      ...files,
    },
  )

export const samplePackages: readonly Published[] = [
  published(
    { name: 'sample-dependency', version: '1.0.0', type: 'module', exports: './index.js' },
    { 'index.js': `export const dependency = 'of npm'\n`, 'lib/more.js': 'export {}\n' },
  ),
  published(
    {
      name: '@sample/hello',
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
      peerDependencies: { '@mortise/module-sdk': '^1.0.0' },
      mortise: { id: 'hello', host: `^${hostVersion}`, routes: ['GET /hello'] },
    },
    {
      'index.js': `import { defineModule } from '@mortise/module-sdk'
export default defineModule('hello').plugin(async (app) => {
  app.get('/hello', { config: { access: 'public' } }, async () => ({ hello: 'world' }))
})
`,
    },
  ),
  note('1.0.0', 'id, body', {}, {}),
  note(
    '2.0.0',
    'id, body, colour',
    { config: 'settings.json' },
    {
      'migrations/002-colour.sql': `ALTER TABLE note ADD COLUMN colour TEXT DEFAULT 'none'`,
      'migrations/002-colour.down.sql': 'ALTER TABLE note DROP COLUMN colour',
      'settings.json': JSON.stringify({
        type: 'object',
        properties: { greeting: { type: 'string', default: 'hello' } },
        additionalProperties: false,
      }),
    },
  ),
]
