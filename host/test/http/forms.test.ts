import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'

const MOST = 700_000

const picture: FixtureModule = {
  manifest: {
    id: 'picture',
    routes: ['POST /picture', 'GET /picture', 'GET /picture/:id', 'POST /note'],
    tables: 'picture',
    migrations: 'migrations',
  },
  files: {
    'migrations/001-picture.sql':
      'CREATE TABLE picture (id TEXT PRIMARY KEY, name TEXT, bytes BYTEA NOT NULL)',
    'index.js': `
      import { respond, Binary, defineModule, FilePart, newId, run, Strict, sql } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      const config = { access: 'caller' }
      const body = Strict({
        title: Type.String({ minLength: 1, maxLength: 20 }),
        stars: Type.Optional(Type.Integer({ minimum: -5, maximum: 5 })),
        shown: Type.Boolean({ default: true }),
        file: FilePart({ mediaTypes: ['image/png', 'text/*'], maxLength: ${MOST}, description: 'A picture' }),
        more: Type.Optional(FilePart({ maxLength: 10 })),
      }, { title: 'NewPicture' })
      export default defineModule('picture').plugin(async (app, { database }) => {
        app.post('/picture', { config, schema: { body, response: { 201: Type.Any() } } }, (request) =>
          request.transaction(function* () {
            const { file, more, ...fields } = request.body
            const id = newId('picture')
            yield* run(sql\`INSERT INTO picture VALUES (\${id}, \${file.name}, \${file.bytes})\`)
            return respond(201, { ...fields, file, more: more?.bytes.length, id })
          }))
        app.get('/picture', { config, schema: { response: { 200: Type.Any() } } }, () =>
          database.one(sql\`SELECT count(*) AS count FROM picture\`))
        app.get('/picture/:id', { config, schema: { response: { 200: Binary('image/png') } } }, async (request, reply) => {
          const { bytes } = await database.one(sql\`SELECT bytes FROM picture WHERE id = \${request.params.id}\`)
          return reply.type('image/png').send(bytes)
        })
        app.post('/note', { config, schema: { body: Strict({ text: Type.String() }), response: { 200: Type.Any() } } },
          async (request) => request.body)
      })`,
  },
}

type Sent = NonNullable<RequestInit['body']>

async function serve(t: Test) {
  const directory = await applicationFolder(t, { rateLimit: { max: 0 } })
  await install(t, directory, picture)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const { url } = application
  const guest = (await (await fetch(`${url}/guest`, { method: 'POST' })).json()) as { token: string }
  const headers = { 'guest-token': guest.token }
  return {
    url,
    headers,
    count: async () =>
      ((await (await fetch(`${url}/picture`, { headers })).json()) as { count: number }).count,
    get: async (id: string) => {
      const response = await fetch(`${url}/picture/${id}`, { headers })
      return Buffer.from(await response.arrayBuffer())
    },
    async post(body: Sent, more: Record<string, string> = {}) {
      const init = { method: 'POST', body, headers: { ...headers, ...more }, duplex: 'half' }
      const response = await fetch(`${url}/picture`, init as RequestInit)
      const responded = (await response.json()) as Record<string, unknown> & { id: string }
      return { status: response.status, headers: response.headers, responded }
    },
  }
}

const every = Uint8Array.from({ length: 256 }, (_, value) => value)

function formOf(
  bytes: string | Uint8Array<ArrayBuffer>,
  fields: Record<string, string> = { title: 'tea' },
  type = 'image/png',
) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('file', new File([bytes], 'tea.png', { type }))
  return form
}

/** A form as bytes, each part with its headers. */
const written = (...parts: (readonly [headers: string, value: string | Uint8Array])[]) =>
  Buffer.concat([
    ...parts.flatMap(([headers, value]) => [
      Buffer.from(`--x\r\n${headers}\r\n\r\n`),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ]),
    Buffer.from('--x--\r\n'),
  ])
const asForm = { 'content-type': 'multipart/form-data; boundary=x' }
const named = (name: string, more = '') => `Content-Disposition: form-data; name="${name}"${more}`
const title = [named('title'), 'tea'] as const
const png = (more = '') => `${named('file', '; filename="a.png"')}\r\nContent-Type: image/png${more}`

t.test('a file arrives byte for byte, up to its bound, with the fields beside it', async (t) => {
  const { post, get } = await serve(t)
  const last = Buffer.alloc(MOST, every)
  // What separates parts, nearly, and parts of it at the ends.
  const tricky = Buffer.from('\r\n--x\r\n--x--\r\n\r\n----\r\n-')
  for (const bytes of [every, new Uint8Array(0), last, tricky]) {
    const { status, responded } = await post(formOf(bytes, { title: 'tea', stars: '-2', shown: 'false' }))
    t.equal(status, 201, JSON.stringify(responded))
    const { id, ...rest } = responded
    const file = { name: 'tea.png', mediaType: 'image/png', length: bytes.length }
    t.strictSame(rest, { title: 'tea', stars: -2, shown: false, file })
    t.ok((await get(id)).equals(bytes), `${bytes.length} bytes`)
  }
  const { responded } = await post(formOf('text', { title: 'ä 🛒' }, 'text/plain; charset=utf-8'))
  t.match(responded, { title: 'ä 🛒', shown: true, file: { mediaType: 'text/plain', length: 4 } })
  const streamed = new Blob([new Uint8Array(written(title, [png(), every]))]).stream()
  t.equal((await post(streamed, asForm)).status, 201, 'a chunked body')
})

t.test('what the schema does not take is refused, and nothing is done', async (t) => {
  const { post, count } = await serve(t)
  const file = [png(), 'bytes'] as const
  const cases: [what: string, body: Sent, status: number, expected: object][] = [
    [
      'one byte over',
      formOf(Buffer.alloc(MOST + 1)),
      413,
      { detail: /"file" has 700001 bytes, and may have 700000/ },
    ],
    [
      'far over',
      formOf(Buffer.alloc(MOST + 500_000)),
      413,
      { detail: /^The body is larger than 1093226 bytes: send/ },
    ],
    [
      'another media type',
      formOf('<svg/>', undefined, 'image/svg+xml'),
      415,
      {
        detail: /"file" is image\/svg\+xml: send image\/png or text\/\*/,
      },
    ],
    ['no file', written(title), 400, { errors: [{ pointer: '/file', detail: 'is required' }] }],
    ['nothing', written(), 400, { errors: [{}] }],
    [
      'two files',
      written(title, file, file),
      400,
      { errors: [{ pointer: '/file', detail: 'must be given once' }] },
    ],
    ['two titles', written(title, title, file), 400, { errors: [{ pointer: '/title' }] }],
    [
      'an unknown part',
      written(title, file, [named('size'), '1']),
      400,
      {
        errors: [{ pointer: '/size', detail: 'is not a known field' }],
      },
    ],
    [
      '__proto__',
      written(title, file, [named('__proto__'), '1']),
      400,
      { errors: [{ pointer: '/__proto__' }] },
    ],
    ['a long title', formOf(every, { title: 'x'.repeat(21) }), 400, { errors: [{ pointer: '/title' }] }],
    [
      'a number that is none',
      formOf(every, { title: 'tea', stars: '01' }),
      400,
      { errors: [{ pointer: '/stars' }] },
    ],
    [
      'a rounded number',
      formOf(every, { title: 'tea', stars: '9007199254740993' }),
      400,
      {
        errors: [{ pointer: '/stars' }],
      },
    ],
    [
      'no UTF-8',
      written([named('title'), Buffer.from([0xff])], file),
      400,
      { errors: [{ detail: 'must be UTF-8' }] },
    ],
    ['NUL', written([named('title'), 'a\0'], file), 400, { errors: [{ detail: 'must not contain NUL' }] }],
    [
      'a file as a field',
      written([`${named('title')}\r\nContent-Type: image/png`, 'a'], file),
      415,
      {
        detail: /"title" as text\/plain/,
      },
    ],
    [
      'base64',
      written(title, [png('\r\nContent-Transfer-Encoding: base64'), 'AAAA']),
      415,
      {
        detail: /without Content-Transfer-Encoding/,
      },
    ],
    [
      'no name',
      written(title, file, ['Content-Disposition: form-data', 'a']),
      400,
      { errors: [{ pointer: '' }] },
    ],
    ['no end', written(title, file).subarray(0, -10), 400, { errors: [{ pointer: '' }] }],
    ['no form', 'hello', 400, { errors: [{ pointer: '' }] }],
    ['many parts', written(...Array(300).fill(title)), 400, { errors: [{}] }],
  ]
  for (const [what, body, status, expected] of cases) {
    const refused = await post(body, body instanceof FormData ? {} : asForm)
    t.equal(refused.status, status, `${what}: ${JSON.stringify(refused.responded)}`)
    t.match(refused.responded, expected, what)
    t.equal(refused.headers.get('content-type'), 'application/problem+json')
  }
  for (const type of [
    'application/json',
    'multipart/form-data',
    'multipart/mixed; boundary=x',
    'text/plain',
    'x',
  ]) {
    const { status, responded } = await post(written(title, file), { 'content-type': type })
    t.ok(status === 415 || (status === 400 && type.includes('form-data')), `${type}: ${status}`)
    if (status === 415) t.match(responded.detail, /^Send the body as multipart\/form-data/)
  }
  const packed = await post(written(title, file), { ...asForm, 'content-encoding': 'gzip' })
  t.equal(packed.status, 415)
  t.equal(await count(), 0)
})

t.test('a form is no body for a route of JSON', async (t) => {
  const { url, headers } = await serve(t)
  const form = new FormData()
  form.append('text', 'tea')
  const response = await fetch(`${url}/note`, { method: 'POST', headers, body: form })
  t.equal(response.status, 415)
})

t.test('a key protects a form, whatever boundary its parts have', async (t) => {
  const { post, count } = await serve(t)
  const key = { 'idempotency-key': randomUUID() }
  const first = await post(formOf(every), key)
  const second = await post(formOf(every), key)
  t.equal(first.status, 201)
  t.strictSame(second.responded, first.responded)
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  const changed = every.slice()
  changed[255] = 0
  const other = [
    formOf(changed),
    formOf(every.subarray(1)),
    formOf(every, { title: 'Tea' }),
    formOf(every, { title: 'tea', stars: '1' }),
    formOf(every, undefined, 'text/plain'),
  ]
  for (const form of other) {
    const { status, responded } = await post(form, key)
    t.equal(status, 422)
    t.equal(responded.code, 'idempotency-mismatch')
  }
  t.equal(await count(), 1)
  const large = { 'idempotency-key': randomUUID() }
  t.equal((await post(formOf(Buffer.alloc(MOST + 1)), large)).status, 413)
  t.equal((await post(formOf(every), large)).status, 201, 'a refused upload does not use up its key')
})

t.test('an upload that breaks off leaves nothing', async (t) => {
  const { url, headers, post, count } = await serve(t)
  const body = written(title, [png(), Buffer.alloc(MOST)])
  const { hostname, port } = new URL(url)
  for (const sent of [0, 100, body.length - 1]) {
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(
      `POST /picture HTTP/1.1\r\nHost: x\r\nGuest-Token: ${headers['guest-token']}\r\nContent-Length: ${body.length}\r\n` +
        `Content-Type: ${asForm['content-type']}\r\n\r\n`,
    )
    await new Promise((resolve) => socket.write(body.subarray(0, sent), resolve))
    socket.destroy()
    await once(socket, 'close')
  }
  t.equal((await post(formOf(every))).status, 201)
  t.equal(await count(), 1)
})

t.test('OpenAPI 3.1 describes the parts', async (t) => {
  const { url } = await serve(t)
  const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { post: { requestBody: unknown } }>
    components: { schemas: Record<string, unknown> }
  }
  t.strictSame(paths['/picture']?.post.requestBody, {
    required: true,
    content: {
      'multipart/form-data': {
        schema: { $ref: '#/components/schemas/NewPicture' },
        encoding: { file: { contentType: 'image/png, text/*' }, more: { contentType: '*/*' } },
      },
    },
  })
  t.match(components.schemas.NewPicture, {
    type: 'object',
    required: ['title', 'file'],
    properties: {
      file: { type: 'string', format: 'binary', maxLength: MOST, description: 'A picture' },
      more: { type: 'string', format: 'binary', maxLength: 10 },
    },
  })
  t.notMatch(JSON.stringify(components.schemas.NewPicture), 'mediaTypes')
})
