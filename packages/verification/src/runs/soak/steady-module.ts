import { moduleJson, writeFiles } from '../../harness/write-files.ts'

/** Characters of `GET /steady/large`: more than socket buffers hold. */
export const LARGE = 6_000_000
/** Pieces of `GET /steady/stream`, their characters, and the milliseconds between them. */
export const PIECES = { count: 20, length: 2_000, pause: 50 }

/** The module under load. Each response has the number of its instance since the host's start. */
export const writeSteadyModule = (folder: string): Promise<string> =>
  writeFiles(folder, {
    'package.json': moduleJson('steady', '1.0.0', {
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
    'dist/index.js': steadySource,
  })

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
