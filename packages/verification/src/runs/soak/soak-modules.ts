import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Characters of `GET /steady/large`: more than socket buffers hold. */
export const LARGE = 6_000_000
/** Pieces of `GET /steady/stream`, their characters, and the milliseconds between them. */
export const PIECES = { count: 20, length: 2_000, pause: 50 }

/** The module under load. Each response has the number of its instance since the host's start. */
export async function writeSteadyModule(folder: string): Promise<string> {
  await write(folder, {
    'package.json': packageJson('steady', '1.0.0', {
      routes: [
        'GET /steady',
        'GET /steady/slow/:ms',
        'GET /steady/large',
        'GET /steady/stream',
        'POST /steady/entry',
        'POST /steady/upload',
        'GET /steady/sums',
      ],
      tables: 'steady',
      migrations: 'migrations',
    }),
    'migrations/001-entry.sql':
      'CREATE TABLE steady_entry (client INTEGER NOT NULL, sequence INTEGER NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (client, sequence));',
    'migrations/001-entry.down.sql': 'DROP TABLE steady_entry;',
    'index.js': steadySource,
  })
  return folder
}

const steadySource = `
import { setTimeout } from 'node:timers/promises'
import { Readable } from 'node:stream'
import { respond, defineModule, one, run, sql, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
const large = 'x'.repeat(${LARGE})
const config = { access: 'public' }
const Echo = Strict({ echo: Type.Optional(Type.String()) })
const Entry = Strict({ client: Type.Integer(), sequence: Type.Integer(), amount: Type.Integer() })
const Upload = Strict({ text: Type.String() })
export default defineModule('steady').plugin(async (app, { database }) => {
  const instance = (globalThis.steadyInstances = (globalThis.steadyInstances ?? 0) + 1)
  let closed = false
  app.addHook('onClose', async () => { closed = true })
  const from = () => ({ instance, closed })
  app.get('/steady', { config, schema: { querystring: Echo } }, async (request) => ({ ...from(), echo: request.query.echo }))
  app.get('/steady/slow/:ms', { config }, async (request) => {
    await setTimeout(Number(request.params.ms))
    return { ...from(), ms: request.params.ms }
  })
  app.get('/steady/large', { config }, async (request, reply) => {
    reply.type('text/plain')
    return instance + ' ' + large
  })
  app.get('/steady/stream', { config }, async (request, reply) => {
    reply.type('text/plain')
    return Readable.from((async function* () {
      yield instance + ' '
      for (let piece = 0; piece < ${PIECES.count}; piece++) {
        await setTimeout(${PIECES.pause})
        if (closed) throw new Error('closed before its last response')
        yield 'y'.repeat(${PIECES.length})
      }
    })())
  })
  app.post('/steady/entry', { config, schema: { body: Entry } }, (request) => request.transaction(function* () {
    const { client, sequence, amount } = request.body
    yield* run(sql\`INSERT INTO steady_entry (client, sequence, amount) VALUES (\${client}, \${sequence}, \${amount})\`)
    const { total } = yield* one(sql\`SELECT sum(amount) AS total FROM steady_entry WHERE client = \${client}\`)
    return respond(201, { ...from(), total })
  }))
  app.post('/steady/upload', { config, schema: { body: Upload } }, async (request) => ({ ...from(), length: request.body.text.length }))
  app.get('/steady/sums', { config }, () => database.many(
    sql\`SELECT client, count(*) AS entries, sum(amount) AS total FROM steady_entry GROUP BY client ORDER BY client\`))
})
`

/** The faults of a version of a changing module. */
export type Fault = 'throws' | 'bad migration' | 'fails its self-check'

/** A version of a changing module: `GET /<id>` returns its version and setting. */
export async function writeChangingModule(
  folder: string,
  id: string,
  version: string,
  fault?: Fault,
): Promise<string> {
  const files: Record<string, string> = {
    'package.json': packageJson(id, version, {
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
    'index.js': changingSource(id, version, fault),
  }
  if (fault === 'bad migration') files['migrations/002-bad.sql'] = `INSERT INTO ${id}_nowhere VALUES (1);`
  if (fault === 'fails its self-check') {
    files['migrations/002-more.sql'] = `CREATE TABLE ${id}_more (text TEXT NOT NULL);`
    files['migrations/002-more.down.sql'] = `DROP TABLE ${id}_more;`
  }
  await write(folder, files)
  return folder
}

/** Fails only in the host: the probe has no environment variables. */
const failsInTheHost = "if (process.env.APP_LOG_LEVEL) throw new Error('on purpose')"

const changingSource = (id: string, version: string, fault: Fault | undefined) => `
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

const packageJson = (id: string, version: string, manifest: object) =>
  JSON.stringify({
    name: `@soak/${id}`,
    version,
    type: 'module',
    exports: './index.js',
    peerDependencies: { '@mortise/module-sdk': '^1.0.0', '@sinclair/typebox': '^0.34.0' },
    mortise: { id, host: '^1.0.0', ...manifest },
  })

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}
