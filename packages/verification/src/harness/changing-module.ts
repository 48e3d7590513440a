import { moduleJson, writeFiles } from './write-files.ts'

/** The faults of a version of a changing module. */
export type Fault = 'throws' | 'bad migration' | 'fails its self-check'

/** A version of a changing module: `GET /<id>` returns its version and setting. */
export function writeChangingModule(
  folder: string,
  id: string,
  version: string,
  fault?: Fault,
): Promise<string> {
  return writeFiles(folder, {
    'package.json': moduleJson(id, version, {
      routes: [`GET /${id}`],
      tables: id,
      migrations: 'migrations',
      config: 'settings.schema.json',
    }),
    'settings.schema.json': JSON.stringify({
      type: 'object',
      properties: { mark: { type: 'integer', default: 0 } },
      additionalProperties: false,
    }),
    'migrations/001-note.sql': `CREATE TABLE ${id}_note (text TEXT NOT NULL);`,
    'migrations/001-note.down.sql': `DROP TABLE ${id}_note;`,
    'dist/index.js': sourceOf(id, version, fault),
    ...(fault === 'bad migration' && { 'migrations/002-bad.sql': `INSERT INTO ${id}_nowhere VALUES (1);` }),
    ...(fault === 'fails its self-check' && {
      'migrations/002-more.sql': `CREATE TABLE ${id}_more (text TEXT NOT NULL);`,
      'migrations/002-more.down.sql': `DROP TABLE ${id}_more;`,
    }),
  })
}

/** Fails only in the host: the probe has no environment variables. */
const failsInTheHost = "if (process.env.APP_LOG_LEVEL) throw new Error('on purpose')"

const sourceOf = (id: string, version: string, fault: Fault | undefined) => `
import { defineModule, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
const Reply = Type.Object({ version: Type.String(), mark: Type.Integer(), notes: Type.Integer() })
export default defineModule('${id}').plugin(async (app, { settings, database }) => {
  ${fault === 'throws' ? "throw new Error('on purpose')" : ''}
  app.get('/${id}', { config: { access: 'public' }, schema: { response: { 200: Reply } } }, async () => {
    ${fault === 'fails its self-check' ? failsInTheHost : ''}
    const { notes } = await database.one(sql\`SELECT count(*) AS notes FROM ${id}_note\`)
    return { version: '${version}', mark: settings.mark, notes }
  })
})
`
