import { pageQuery, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { createApp } from './create-app.ts'

function routes(scope: FastifyInstance): void {
  const querystring = Strict({
    ...pageQuery,
    status: Type.Optional(Type.String({ minLength: 1 })),
    deep: Type.Optional(Type.Boolean()),
  })
  scope.get('/list', { config: { access: 'public' }, schema: { querystring } }, async ({ query }) => query)
  const alias = { query: Strict({ q: Type.Integer() }) } as object
  scope.get('/alias', { config: { access: 'public' }, schema: alias }, async ({ query }) => query)
}

t.test('converts what a query parameter declares', async (t) => {
  const app = await createApp(t, { routes })
  t.strictSame((await app.inject('/list')).json(), { page: 1, rpp: 20 })
  t.strictSame((await app.inject('/list?page=2147483647&rpp=100&status=a,b+c&deep=true')).json(), {
    page: 2147483647,
    rpp: 100,
    status: 'a,b c',
    deep: true,
  })
})

t.test('knows `query` for `querystring`, as Fastify does', async (t) => {
  const app = await createApp(t, { routes })
  t.strictSame((await app.inject('/alias?q=1')).json(), { q: 1 })
  t.equal((await app.inject('/alias?q=x')).statusCode, 400)
})

t.test('reads an integer in no other form than digits', async (t) => {
  const app = await createApp(t, { routes })
  const forms = [
    '1e1',
    '0x10',
    '+1',
    '-1',
    '%201',
    '1%20',
    '01',
    '1.0',
    '1.',
    '',
    '%D9%A1',
    '1_000',
    'NaN',
    'null',
  ]
  for (const text of [...forms, '0', '2147483648', '9'.repeat(400)]) {
    const response = await app.inject(`/list?page=${text}`)
    t.equal(response.statusCode, 400, text)
    t.strictSame(response.json().errors, [
      { parameter: 'page', detail: 'must be an integer from 1 to 2147483647' },
    ])
  }
  t.equal((await app.inject('/list?page')).statusCode, 400)
  t.equal((await app.inject('/list?deep=1')).statusCode, 400)
})

t.test('refuses repeated, undecodable and unknown parameters', async (t) => {
  const app = await createApp(t, { routes })
  for (const [query, parameter] of [
    ['page=1&page=1', 'page'],
    ['page[]=1', 'page[]'],
    ['status=%FF', 'status'],
    ['status=a%00', 'status'],
    ['__proto__=1', '__proto__'],
    ['constructor=1', 'constructor'],
    ['Page=1', 'Page'],
    ['a/b~c=1', 'a/b~c'],
  ] as const) {
    const response = await app.inject(`/list?${query}`)
    t.equal(response.statusCode, 400, query)
    t.equal(response.json().errors[0].parameter, parameter)
  }
})

t.test('a route that declares no parameters takes none', async (t) => {
  const app = await createApp(t)
  for (const url of ['/cart?x=1', '/cart?__proto__=1', '/?x', '/health/live?verbose=1', '/cart/item/x?y=1']) {
    t.equal((await app.inject(url)).statusCode, 400, url)
    t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 400, `HEAD ${url}`)
  }
  t.equal((await app.inject('/cart?')).statusCode, 200)
})
