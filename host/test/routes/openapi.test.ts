import { gunzipSync } from 'node:zlib'
import { List, many, Nullable, PageOf, pageQuery, Strict, sql } from '@mortise/module-sdk'
import { defineProblems } from '@mortise/module-sdk/host'
import { type TSchema, Type } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { EventType } from '../../src/modules/event-types.ts'
import { createApp } from '../http/create-app.ts'

const problems = defineProblems('api-list', {
  'no-such-list': { status: 404, title: 'No such list' },
  'bad-list': { status: 400, title: 'A bad list' },
  'invalid-request': { status: 400, title: 'The request is invalid' },
})

function routes(scope: FastifyInstance): void {
  const Listed = Type.Object(
    { kind: Type.Literal('list'), at: Type.String({ format: 'date-time' }) },
    { $id: 'List' },
  )
  scope.addSchema(Listed)
  scope.get(
    '/list/:name',
    {
      config: { access: 'list:read', module: 'api-list', tool: false },
      schema: {
        security: [{ bearer: [] }],
        params: Type.Object({ name: Type.String() }),
        querystring: Strict({ ...pageQuery, q: Type.Optional(Type.String()) }),
        response: {
          200: Type.Unsafe({ $ref: 'List#' }),
          ...problems.responses('no-such-list', 'bad-list', 'invalid-request'),
        },
      },
    },
    async () => ({ kind: 'list', at: '2026-11-21T09:30:00.000Z' }),
  )
}

async function documentOf(t: import('tap').Test, options: Parameters<typeof createApp>[1] = {}) {
  const app = await createApp(t as never, { routes, ...options })
  const response = await app.inject(`${options.basePath ?? ''}/openapi.json`)
  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  return response.json()
}

/** Every object in `value`, with its path. */
function* objectsIn(value: unknown, path = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [path, value as Record<string, unknown>]
  for (const [key, child] of Object.entries(value)) yield* objectsIn(child, `${path}/${key}`)
}

function operationsOf(document: { paths: object }) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as object).map(([method, operation]) => ({ path, method, operation })),
  )
}

t.test('the events of modules are webhooks, in CloudEvents envelopes', async (t) => {
  const schema = Type.Object({ text: Type.String() }, { title: 'NoteAdded' })
  const document = await documentOf(t, { eventTypes: [{ type: 'note.was-added', source: 'note', schema }] })
  const { post } = document.webhooks['note.was-added']
  t.match(post, { operationId: 'onNoteWasAdded', tags: ['note'], security: [{ webhookSignature: [] }] })
  t.match(
    post.parameters.map(({ name }: { name: string }) => name),
    ['webhook-id', 'webhook-timestamp'],
  )
  t.equal(document.components.securitySchemes.webhookSignature.name, 'webhook-signature')
  const { $ref } = post.requestBody.content['application/cloudevents+json'].schema
  t.equal($ref, '#/components/schemas/NoteWasAddedEvent')
  t.match(document.components.schemas.NoteWasAddedEvent.properties, {
    specversion: { const: '1.0' },
    source: { const: '/note' },
    type: { const: 'note.was-added' },
    data: { $ref: '#/components/schemas/NoteAdded' },
  })
  t.equal((await documentOf(t)).webhooks, undefined)
})

t.test('is OpenAPI 3.1 whose references resolve and whose schemas are JSON Schema 2020-12', async (t) => {
  const document = await documentOf(t)
  t.match(document.openapi, /^3\.1\.\d+$/)
  t.match(document.info, { title: 'Shop', version: '3.2.1', description: /Guest-Token.*\n\n.*Problem/s })
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  const references = new Set<string>()
  let schemas = 0
  for (const [path, object] of objectsIn(document)) {
    if (typeof object.$ref === 'string' && !references.has(object.$ref)) {
      references.add(object.$ref)
      t.doesNotThrow(() => ajv.compile({ $ref: `document${object.$ref}` }), `${path} -> ${object.$ref}`)
    }
    if (object.schema) {
      t.equal(ajv.validateSchema(object.schema), true, path)
      schemas++
    }
  }
  t.ok(schemas > 20)
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    t.equal(ajv.validateSchema(schema as object), true, name)
  }
  for (const { path, method, operation } of operationsOf(document)) {
    const where = `${method} ${path}`
    t.match(path, /^\/(?!.*:)/, where)
    t.match(method, /^(get|post|put|patch|delete)$/, 'HEAD is not listed')
    t.ok(operation.operationId && operation.tags.length === 1 && Array.isArray(operation.security), where)
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const parameters = (operation.parameters ?? []).filter(
      (parameter: { in: string }) => parameter.in === 'path',
    )
    t.strictSame(
      parameters.map((parameter: { name: string }) => parameter.name),
      named,
      where,
    )
    for (const response of Object.values(operation.responses))
      t.ok((response as { description: string }).description, where)
  }
  const ids = operationsOf(document).map(({ operation }) => operation.operationId)
  t.equal(new Set(ids).size, ids.length, 'operationIds are unique')
})

t.test('a shared schema with a URL as its id is a component too', async (t) => {
  const $id = 'https://list.example/parts.json'
  const document = await documentOf(t, {
    routes(scope) {
      scope.addSchema({ $id, definitions: { word: { type: 'string' } } })
      const body = Type.Object({ word: Type.Unsafe({ $ref: `${$id}#/definitions/word` }) })
      scope.post('/list', { config: { access: 'public' }, schema: { body } }, async () => ({}))
    },
  })
  for (const name of Object.keys(document.components.schemas)) t.match(name, /^[a-zA-Z0-9._-]+$/)
  const { word } = document.paths['/list'].post.requestBody.content['application/json'].schema.properties
  const ajv = new Ajv2020({ strict: false })
  ajv.addSchema(document, 'document')
  t.equal(ajv.compile({ $ref: `document${word.$ref}` })(1), false)
})

t.test('operations and schemas keep the names of their authors', async (t) => {
  const document = await documentOf(t)
  t.strictSame(Object.keys(document.components.schemas).sort(), [
    'Healthy',
    'InvalidPart',
    'List',
    'ModuleState',
    'Overview',
    'Problem',
    'Ready',
  ])
  t.notMatch(JSON.stringify(document), /def-\d|schema-\d/)
  t.equal(document.paths['/cart/item/{id}'].patch.operationId, 'patchCartItemById')
  t.equal(document.paths['/'].get.operationId, 'getOverview')
  t.strictSame(document.paths['/cart'].get.tags, ['api-cart'])
  t.strictSame(document.paths['/health/live'].get.tags, ['application'])
  t.strictSame(document.tags, [
    { name: 'application', description: 'The application' },
    { name: 'api-cart', description: 'The module api-cart' },
    { name: 'api-purchase', description: 'The module api-purchase' },
    { name: 'api-list', description: 'The module api-list' },
  ])
})

t.test('shows every field of the schemas that validate', async (t) => {
  const document = await documentOf(t)
  t.strictSame(document.paths['/cart/item'].post.requestBody.content['application/json'].schema, {
    additionalProperties: false,
    type: 'object',
    required: ['product', 'quantity'],
    properties: {
      product: { minLength: 1, maxLength: 128, type: 'string' },
      quantity: { minimum: 1, maximum: 9999, type: 'integer' },
    },
  })
  const query = document.paths['/list/{name}'].get.parameters.filter(
    (parameter: { in: string }) => parameter.in === 'query',
  )
  t.match(query[0], {
    name: 'page',
    required: false,
    schema: { type: 'integer', minimum: 1, maximum: 2147483647, default: 1 },
  })
})

t.test(
  'a field of a body that may be left out has its default in words, so that clients need not send it',
  async (t) => {
    const Line = Strict({ count: Type.Integer({ default: 1 }), name: Type.String() })
    const body = Strict({
      draft: Type.Boolean({ default: false, description: 'whether it waits' }),
      lines: Type.Array(Line),
    })
    const { paths } = await documentOf(t, {
      routes: (scope) => {
        const config = { access: 'caller', module: 'api-note' } as const
        scope.post('/note', { config, schema: { body } }, async () => 1)
      },
    })
    const { required, properties } = paths['/note'].post.requestBody.content['application/json'].schema
    t.strictSame(required, ['lines'])
    t.strictSame(properties.draft, {
      type: 'boolean',
      description: 'whether it waits; false by default',
    })
    t.strictSame(properties.lines.items.required, ['name'])
    t.strictSame(properties.lines.items.properties.count, {
      type: 'integer',
      description: '1 by default',
    })
  },
)

t.test('is ASCII: what a pattern has of other characters can be seen', async (t) => {
  const pattern = '^[\u2000-\u202e]$'
  const app = await createApp(t as never, {
    routes: (scope) => {
      const schema = { querystring: Strict({ q: Type.Optional(Type.String({ pattern })) }) }
      scope.get('/line', { config: { access: 'public' }, schema }, async () => 1)
    },
  })
  const { body } = await app.inject('/openapi.json')
  t.notMatch(body, /[^\x20-\x7e]/)
  t.equal(JSON.parse(body).paths['/line'].get.parameters[0].schema.pattern, pattern)
})

t.test('the document is compressed, and 304 if the client has it', async (t) => {
  const app = await createApp(t as never, { routes })
  const get = (headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({ method, url: '/openapi.json', headers })
  const plain = await get({})
  t.match(plain.headers, { vary: 'Accept-Encoding', etag: /^"[^"]+"$/, 'cache-control': 'no-cache' })
  const gzip = await get({ 'accept-encoding': 'gzip, br;q=0.5' })
  t.match(gzip.headers, { 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
  t.strictSame(gunzipSync(gzip.rawPayload), plain.rawPayload)
  t.not(gzip.headers.etag, plain.headers.etag, 'a tag of its own')
  const known = { 'accept-encoding': 'gzip', 'if-none-match': String(gzip.headers.etag) }
  const same = await get(known)
  t.match(same, { statusCode: 304, body: '', headers: { etag: gzip.headers.etag, vary: 'Accept-Encoding' } })
  t.equal(same.headers['content-type'], undefined)
  t.equal((await get({ 'if-none-match': String(gzip.headers.etag) })).statusCode, 200, 'of another coding')
  const head = await get({ 'accept-encoding': 'gzip' }, 'HEAD')
  t.equal(head.headers['content-length'], String(gzip.rawPayload.length))
  t.equal(head.headers.etag, gzip.headers.etag)
  t.equal((await get(known, 'HEAD')).statusCode, 304)
})

t.test('many who ask at the same time get one document, made once', async (t) => {
  let made = 0
  const eventTypes: Iterable<EventType> = {
    [Symbol.iterator]() {
      made += 1
      return [].values()
    },
  }
  const app = await createApp(t as never, { eventTypes })
  const responses = await Promise.all(Array.from({ length: 20 }, () => app.inject('/openapi.json')))
  t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
  t.equal(new Set(responses.map(({ body }) => body)).size, 1)
  t.equal(made, 1)
})

t.test('a document that could not be made is made for the next who asks', async (t) => {
  let tries = 0
  const eventTypes: Iterable<EventType> = {
    [Symbol.iterator]() {
      tries += 1
      if (tries === 1) throw new Error('too many open files')
      return [].values()
    },
  }
  const app = await createApp(t as never, { eventTypes })
  t.equal((await app.inject('/openapi.json')).statusCode, 500)
  t.equal((await app.inject('/openapi.json')).statusCode, 200)
})

t.test('says who may use a route', async (t) => {
  const { paths, components } = await documentOf(t)
  t.strictSame(paths['/health/live'].get.security, [])
  t.strictSame(paths['/cart'].get.security, [{ bearer: [] }, { guestToken: [] }, { guestCookie: [] }, {}])
  t.strictSame(paths['/purchase'].post.security, [{ bearer: ['purchase:manage'] }])
  const { security, 'x-tool': tool } = paths['/list/{name}'].get
  t.strictSame(security, [{ bearer: ['list:read'] }], 'a route cannot leave out its scope')
  t.equal(tool, false)
  t.equal(components.securitySchemes.guestCookie.name, 'guest')
  for (const { description } of Object.values<{ description: string }>(components.securitySchemes)) {
    t.match(description, /\w{5}/)
  }
  const secure = await documentOf(t, { publicUrl: 'https://shop.example' })
  t.equal(secure.components.securitySchemes.guestCookie.name, '__Host-guest')
})

const headersNamed = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

t.test('documents the problems of the module and those of the host', async (t) => {
  const { paths } = await documentOf(t)
  const { responses } = paths['/list/{name}'].get
  t.strictSame(Object.keys(responses).sort(), [
    ...['200', '400', '401', '403', '404', '412', '413', '415', '429', '500', '503', 'default'],
  ])
  t.equal(
    responses[400].description,
    '`bad-list`: A bad list; `invalid-request`: The request is invalid',
    'said once, though both have it',
  )
  t.strictSame(responses[404], {
    description: '`no-such-list`: No such list',
    headers: headersNamed('Request-Id', 'RateLimit', 'RateLimit-Policy'),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            {
              type: 'object',
              required: ['code'],
              properties: { code: { type: 'string', enum: ['no-such-list'] } },
            },
          ],
        },
      },
    },
  })
  t.strictSame(Object.keys(paths['/cart/item'].post.responses).sort(), [
    '200',
    '400',
    '401',
    '403',
    '404',
    '409',
    '412',
    '413',
    '415',
    '422',
    '429',
    '500',
    '503',
    'default',
  ])
  t.strictSame(Object.keys(paths['/health/ready'].get.responses).sort(), [
    ...['200', '400', '412', '413', '415', '500', '503', 'default'],
  ])
  t.match(responses.default, {
    description: /request-timeout.*expectation-failed.*unsupported-transfer-encoding/,
    content: {},
  })
})

t.test('names the server by publicUrl and base path, and paths relative to it', async (t) => {
  for (const [publicUrl, basePath, url] of [
    [undefined, '', '/'],
    [undefined, '/api', '/api'],
    ['https://shop.example', '', 'https://shop.example'],
    ['https://shop.example', '/api', 'https://shop.example/api'],
  ] as const) {
    const document = await documentOf(t, { basePath, ...(publicUrl && { publicUrl }) })
    t.strictSame(document.servers, [{ url }])
    t.ok(document.paths['/'].get && document.paths['/cart/item/{id}'].get)
    t.equal(document.paths['/cart'].get.operationId, 'getCart')
  }
})

t.test('says which headers a response may have', async (t) => {
  const Note = Type.Object({ id: Type.String() })
  const config = { access: 'caller', module: 'api-note' } as const
  const { paths, components } = await documentOf(t, {
    routes: (scope) => {
      scope.get(
        '/note',
        { config, schema: { querystring: Strict({ ...pageQuery }), response: { 200: PageOf(Note) } } },
        async () => 1,
      )
      scope.post(
        '/note',
        { config, schema: { body: Strict({}), response: { 201: Note, 202: Note } } },
        async () => 1,
      )
      scope.post('/sign', { config: { access: 'admin' }, schema: { response: { 200: Note } } }, async () => 1)
    },
  })
  const headersOf = (operation: { responses: Record<string, { headers: object }> }, status: number) =>
    Object.keys(operation.responses[status]?.headers ?? {})
  const { get, post } = paths['/note']
  const always = ['Request-Id', 'RateLimit', 'RateLimit-Policy']
  t.strictSame(headersOf(get, 200), [...always, 'Link', 'Set-Cookie'])
  const made = ['ETag', 'Idempotent-Replayed', 'Location', 'Guest-Token', 'Set-Cookie']
  t.strictSame(headersOf(post, 201), [...always, ...made])
  t.strictSame(headersOf(post, 202), [...always, ...made], 'what is begun has a place, too')
  t.strictSame(headersOf(paths['/sign'].post, 200), [...always, 'ETag'])
  t.strictSame(headersOf(post, 401), [...always, 'Set-Cookie', 'WWW-Authenticate'])
  t.strictSame(headersOf(post, 503), [...always, 'Set-Cookie', 'Retry-After'])
  t.strictSame(headersOf(post, 429), [...always, 'Set-Cookie', 'Retry-After'])
  t.match(components.headers.Link, { description: /RFC 8288/, schema: { type: 'string' } })
  t.equal(post.requestBody.required, false, 'there is nothing to send')
  t.equal(paths['/cart/item'].post.requestBody.required, true)
})

t.test('says which headers of a request are looked at, and what comes of them', async (t) => {
  const Note = Type.Object({ id: Type.String() })
  const own = { type: 'object', properties: { 'x-own': { type: 'string' } }, required: ['x-own'] }
  const { paths } = await documentOf(t, {
    routes: (scope) => {
      const config = { access: 'caller', module: 'api-note' } as const
      const find = () => many(sql`SELECT 1`) as never
      const changes = { ...config, ifMatch: { resource: 'the note', find } }
      const schema = { response: { 200: Note } }
      scope.get('/note', { config, schema }, async () => 1)
      scope.get('/notes', { config, schema: { response: { 200: List(Note) } } }, async () => 1)
      scope.post('/note', { config, schema: { ...schema, headers: own } }, async () => 1)
      scope.patch('/note', { config: changes, schema }, async () => 1)
      scope.delete('/note', { config: changes, schema }, async () => 1)
      scope.post('/hook', { config: { ...config, access: 'public' }, schema }, async () => 1)
      scope.post('/host', { config: { access: 'caller' }, schema }, async () => 1)
    },
  })
  const said = (path: string, method: string) => {
    const { parameters = [], responses } = paths[path][method]
    const headers = parameters.filter((parameter: { in: string }) => parameter.in === 'header')
    const codes = ['304', '409', '412', '422'].filter((status) => status in responses)
    return [headers.map(({ name }: { name: string }) => name).sort(), codes]
  }
  t.strictSame(said('/note', 'get'), [['If-None-Match'], ['304', '412']])
  t.strictSame(said('/notes', 'get'), [[], ['412']])
  t.strictSame(said('/note', 'post'), [
    ['Idempotency-Key', 'x-own'],
    ['409', '412', '422'],
  ])
  t.strictSame(said('/note', 'patch'), [
    ['Idempotency-Key', 'If-Match'],
    ['409', '412', '422'],
  ])
  t.strictSame(said('/note', 'delete'), [
    ['Idempotency-Key', 'If-Match'],
    ['409', '412', '422'],
  ])
  for (const path of ['/hook', '/host']) t.strictSame(said(path, 'post'), [[], ['412']])
  const required = paths['/note'].post.parameters.filter(
    (parameter: { required: boolean }) => parameter.required,
  )
  t.match(required, [{ name: 'x-own' }])
  t.equal(required.length, 1)
})

t.test('refers to a titled schema by its name', async (t) => {
  const Price = Type.Object({ amount: Type.Integer() }, { title: 'Price', description: 'in cents' })
  const Line = Type.Object(
    { price: Price, old: Nullable(Price), tax: { ...Price, description: 'of it' } },
    { title: 'Line' },
  )
  const Other = Type.Object({ title: Type.String() }, { title: 'Line' })
  const route = (module: string, schema: TSchema) => ({
    config: { access: 'public', module } as const,
    schema: { response: { 200: schema } },
  })
  const { paths, components } = await documentOf(t, {
    routes: (scope) => {
      scope.get('/line', route('one', { ...Line, description: 'the line' }), async () => 1)
      scope.get('/lines', route('one', List(Line)), async () => 1)
      scope.get('/other', route('two', Other), async () => 1)
      scope.get('/said', route('two', Type.Object({}, { title: 'Not a name' })), async () => 1)
    },
  })
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const responseOf = (path: string) => paths[path].get.responses[200].content['application/json'].schema
  t.equal(paths['/line'].get.responses[200].description, 'the line')
  t.strictSame(responseOf('/line'), ref('Line'))
  t.strictSame(responseOf('/lines'), ref('LineList'))
  t.strictSame(responseOf('/other'), ref('two.Line'), "another module's of the same name")
  t.equal(responseOf('/said').title, 'Not a name')
  t.strictSame(components.schemas.Line.properties, {
    price: ref('Price'),
    old: { anyOf: [ref('Price'), { type: 'null' }] },
    tax: { description: 'of it', ...ref('Price') },
  })
  t.match(components.schemas.Price, { description: 'in cents', properties: { amount: { type: 'integer' } } })
  t.strictSame(components.schemas['two.Line'].properties, { title: { type: 'string' } })
  t.strictSame(components.schemas.LineList.properties.data, { type: 'array', items: ref('Line') })
})
