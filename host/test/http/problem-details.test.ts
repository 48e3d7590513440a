import { DatabaseError } from '@mortise/module-sdk'
import { defineProblems, ProblemDetails } from '@mortise/module-sdk/host'
import { Type } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { createApp } from './create-app.ts'

const shop = defineProblems('shop', { 'out-of-stock': { status: 409, title: 'Out of stock' } })
const isProblem = new Ajv().compile(ProblemDetails)

const throwing = (error: unknown) => (scope: FastifyInstance) => {
  const response = { 200: Type.Object({}), ...shop.responses('out-of-stock') }
  scope.get('/throw', { config: { access: 'public' }, schema: { response } }, async () => {
    throw error
  })
}

t.test('a problem keeps all its members and headers under a response schema', async (t) => {
  const members = {
    short: [{ product: 'p', left: 2 }],
    errors: [{ pointer: '/items/0', detail: 'd', left: 2 }],
  }
  const problem = shop.create('out-of-stock', 'Two are left.', { members, headers: { 'retry-after': '7' } })
  const app = await createApp(t, { routes: throwing(problem) })
  const response = await app.inject({ url: '/throw', headers: { 'request-id': 'abc' } })
  t.equal(response.statusCode, 409)
  t.equal(response.headers['content-type'], 'application/problem+json')
  t.equal(response.headers['retry-after'], '7')
  t.strictSame(response.json(), {
    type: 'urn:problem-type:shop:out-of-stock',
    title: 'Out of stock',
    status: 409,
    code: 'out-of-stock',
    detail: 'Two are left.',
    ...members,
    requestId: 'abc',
  })
})

t.test('every other error is a 500 that is logged and reveals no internals', async (t) => {
  const status = Object.assign(new Error('secret'), { statusCode: 200 })
  for (const error of [
    new Error('secret'),
    new TypeError('secret'),
    status,
    'secret',
    { secret: 1 },
    new DatabaseError('unique', 'secret'),
  ]) {
    const log: string[] = []
    const app = await createApp(t, { routes: throwing(error), log })
    const response = await app.inject('/throw')
    t.equal(response.statusCode, 500)
    t.ok(isProblem(response.json()))
    t.equal(response.json().code, 'internal-error')
    t.notMatch(response.body, /secret|stack|Error:/)
    t.equal(log.length, 1)
    t.match(JSON.parse(log[0] as string), {
      level: 50,
      requestId: response.json().requestId,
      route: 'GET /throw',
    })
    t.match(log[0], /secret/)
  }
})

t.test('the status of an error is honoured, and its text is shown below 500', async (t) => {
  const failing = (members: object) => Object.assign(new Error('no such tea'), members)
  const named = { type: 'urn:problem-type:host:not-found', title: 'Not found', code: 'not-found' }
  for (const [error, expected] of [
    [failing({ statusCode: 404 }), { ...named, status: 404, detail: 'no such tea' }],
    [failing({ status: 404 }), { ...named, status: 404 }],
    [
      failing({ statusCode: 403 }),
      { status: 403, code: 'forbidden', title: 'Forbidden', detail: 'no such tea' },
    ],
    [failing({ statusCode: 418 }), { status: 418, code: 'im-a-teapot' }],
    [failing({ statusCode: 429, headers: { 'retry-after': 7 } }), { status: 429, code: 'rate-limited' }],
    [failing({ statusCode: 400 }), { status: 400, code: 'invalid-request', errors: [{ pointer: '' }] }],
    [
      failing({ statusCode: 401, code: 'FST_JWT_NO_AUTHORIZATION_IN_HEADER' }),
      { status: 401, code: 'unauthorized' },
    ],
    [failing({ statusCode: 502 }), { status: 502, code: 'bad-gateway', detail: 'Bad Gateway' }],
    [failing({ statusCode: 500 }), { status: 500, code: 'internal-error' }],
  ] as const) {
    const log: string[] = []
    const app = await createApp(t, { routes: throwing(error), log })
    const response = await app.inject('/throw')
    t.equal(response.statusCode, expected.status)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.ok(isProblem(response.json()))
    t.match(response.json(), expected)
    if (expected.status === 429) t.equal(response.headers['retry-after'], '7')
    t.equal(response.body.includes('no such tea'), expected.status < 500)
    t.equal(log.length, expected.status < 500 ? 0 : 1, 'a server error is logged with its text')
    if (expected.status >= 500) t.match(log[0], /no such tea/)
  }
})

t.test('a header that Node refuses is a 500 without it', async (t) => {
  const log: string[] = []
  const app = await createApp(t, {
    log,
    routes(scope) {
      scope.get('/set', { config: { access: 'public' } }, async (_request, reply) => {
        reply.header('x-name', 'green\ntea').header('x-left', '2')
        return {}
      })
      const headers = { 'x-name': 'green\ntea', 'retry-after': 7 }
      throwing(Object.assign(new Error('slow down'), { statusCode: 429, headers }))(scope)
    },
  })
  const set = await app.inject('/set')
  t.match(set.json(), { status: 500, code: 'internal-error' })
  t.match(set.headers, { 'content-type': 'application/problem+json', 'x-left': '2' })
  t.notOk(set.headers['x-name'])
  t.match(log[0], /x-name/)
  const thrown = await app.inject('/throw')
  t.match(thrown.json(), { status: 429, detail: 'slow down' })
  t.match(thrown.headers, { 'retry-after': '7' })
})

t.test('the status that a route has set counts for what it throws or sends then', async (t) => {
  const app = await createApp(t, {
    routes(scope) {
      const config = { access: 'public' } as const
      scope.get('/thrown', { config }, async (_request, reply) => {
        reply.code(409).header('x-left', '2')
        throw new Error('two are left')
      })
      scope.get('/sent', { config }, (_request, reply) => {
        reply.code(410).send(new Error('it is gone'))
      })
    },
  })
  const thrown = await app.inject('/thrown')
  t.match(thrown.json(), { status: 409, code: 'conflict', detail: 'two are left' })
  t.equal(thrown.headers['x-left'], '2')
  t.match((await app.inject('/sent')).json(), { status: 410, code: 'gone', detail: 'it is gone' })
})

t.test('a bug after reply.code(404) is a 500, and its text stays hidden', async (t) => {
  const app = await createApp(t, {
    routes(scope) {
      const response = { 404: Type.Object({ left: Type.Integer() }) }
      const config = { access: 'public' } as const
      scope.get('/typed', { config }, async (_request, reply) => {
        reply.code(404)
        throw new TypeError('secret is undefined')
      })
      scope.get('/serialized', { config, schema: { response } }, async (_request, reply) =>
        reply.code(404).send({ secret: 1 } as never),
      )
    },
  })
  for (const url of ['/typed', '/serialized']) {
    const sent = await app.inject(url)
    t.match(sent.json(), { status: 500, code: 'internal-error' }, url)
    t.notMatch(sent.body, /secret|left/)
  }
})

t.test('of the headers of an error only those are sent that say what to do', async (t) => {
  const headers = { 'set-cookie': 'other=1', 'Content-Length': 7, 'X-RateLimit-Limit': 5 }
  const error = Object.assign(new Error('no'), { statusCode: 412, headers })
  const app = await createApp(t, { routes: throwing(error) })
  const sent = await app.inject('/throw')
  t.match(sent.json(), { status: 412, code: 'precondition-failed', title: 'The resource has changed' })
  t.equal(sent.headers['x-ratelimit-limit'], '5')
  t.equal(sent.headers['set-cookie'], undefined)
  const unknown = Object.assign(new Error('who?'), { statusCode: 401 })
  const asked = await (await createApp(t, { routes: throwing(unknown) })).inject('/throw')
  t.equal(asked.headers['www-authenticate'], 'Bearer')
})

t.test('a response that its own schema refuses is a 500 without internals', async (t) => {
  const app = await createApp(t, {
    routes(scope) {
      const response = { 200: Type.Object({ quantity: Type.Integer() }) }
      scope.get(
        '/broken',
        { config: { access: 'public' }, schema: { response } },
        async () => ({ quantity: 'x' }) as never,
      )
    },
  })
  const response = await app.inject('/broken')
  t.equal(response.statusCode, 500)
  t.equal(response.json().code, 'internal-error')
})

t.test('a busy database is 503 with Retry-After', async (t) => {
  const app = await createApp(t, { routes: throwing(new DatabaseError('busy', 'locked')) })
  const response = await app.inject('/throw')
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '1')
  t.equal(response.json().code, 'busy')
})

t.test(
  'a database that is away is 503 with Retry-After, and a COMMIT without a response 500 without',
  async (t) => {
    const away = await createApp(t, { routes: throwing(new DatabaseError('unavailable', 'ECONNREFUSED')) })
    const response = await away.inject('/throw')
    t.equal(response.statusCode, 503)
    t.equal(response.headers['retry-after'], '1')
    t.match(response.json(), { code: 'database-unavailable', detail: /nothing was changed/ })
    t.notMatch(response.body, 'ECONNREFUSED')
    const unknown = await createApp(t, {
      routes: throwing(new DatabaseError('unknown-outcome', 'ECONNRESET')),
    })
    const lost = await unknown.inject('/throw')
    t.equal(lost.statusCode, 500)
    t.equal(lost.headers['retry-after'], undefined, 'so that nobody sends it again blindly')
    t.match(lost.json(), { code: 'outcome-unknown', detail: /the change may have happened/ })
  },
)

t.test('every failure of the host is a problem with the id of its request', async (t) => {
  const app = await createApp(t, { routes: throwing(new Error('x')), notReady: () => 'it starts' })
  const json = { 'content-type': 'application/json' }
  for (const [method, url, status, extra] of [
    ['GET', '/nope', 404, {}],
    ['GET', '/cart/item/x', 404, {}],
    ['PUT', '/cart', 405, {}],
    ['GET', '/cart?x=1', 400, {}],
    ['POST', '/cart/item', 400, { headers: json, payload: '{' }],
    ['POST', '/cart/item', 400, { headers: json, payload: '{}' }],
    ['POST', '/cart/item', 400, { headers: { ...json, 'content-length': '5' }, payload: '{}' }],
    ['POST', '/cart/item', 413, { headers: json, payload: ' '.repeat(400_000) }],
    ['POST', '/cart/item', 415, { headers: { 'content-type': 'text/plain' }, payload: 'x' }],
    ['POST', '/cart/item', 415, { headers: { 'content-type': 'x' }, payload: 'x' }],
    ['GET', '/throw', 500, {}],
    ['GET', '/health/ready', 503, {}],
    ['GET', `/cart/item/${'x'.repeat(30_000)}`, 404, {}],
  ] as const) {
    const response = await app.inject({ method, url, ...extra })
    const problem = response.json()
    t.equal(response.statusCode, status, `${method} ${url.slice(0, 20)}`)
    t.ok(isProblem(problem), response.body)
    t.equal(problem.status, status)
    if (status === 400) t.ok(problem.errors.length > 0, 'and points at the place')
    t.match(problem.type, `:${problem.code}`)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.equal(response.headers['request-id'], problem.requestId)
  }
})
