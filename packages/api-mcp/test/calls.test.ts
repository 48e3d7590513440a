import t, { type Test } from 'tap'
import { connect, shop } from './mcp-host.ts'

/** A module whose resource says what it knows of its client. */
const mirror = (t: Test) => ({
  directory: t.testdir({
    'package.json': JSON.stringify({
      name: 'mirror',
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
      mortise: { id: 'mirror', host: '*', routes: ['GET /mirror/:id', 'GET /mirrors'] },
    }),
    'index.js': `export default async (app) => {
      const response = { 200: { type: 'object', additionalProperties: true, properties: { id: { type: 'string' } } } }
      app.get('/mirror/:id', { config: { access: 'public' }, schema: {
        summary: 'What it knows', response,
        params: { type: 'object', properties: { id: { type: 'string' } } },
      } }, async ({ params, headers, ip, ips, protocol, raw }) =>
        ({ id: params.id, headers, ip, protocol, socket: raw.socket.remoteAddress }))
      app.get('/mirrors', { config: { access: 'public' }, schema: {
        summary: 'A list', response: { 200: { type: 'object', properties: { count: { type: 'integer' } } } },
        querystring: { type: 'object', properties: { count: { type: 'integer' }, name: { type: 'string' } } },
      } }, async ({ query }) => ({ count: query.count ?? 0 }))
    }`,
  }),
})

const textOf = ({ contents }: { contents: readonly object[] }) =>
  JSON.parse((contents[0] as { text: string }).text)

t.test('an address of a resource leads to its route only, however it is spelled', async (t) => {
  const { user } = await shop(t, { modules: [mirror(t)] })
  const client = await connect(t, user('ann', 'admin'))
  for (const id of ['a%3Fb', 'ä,b', '%2561', '..%2f..%2fmetrics', '..%5Cmetrics', '..%23x'])
    t.equal(textOf(await client.readResource({ uri: `mortise:/mirror/${id}` })).id, decodeURIComponent(id))
  for (const uri of [
    ...['mortise:/metrics', 'mortise:/mirror/..', 'mortise:/mirror/%2e%2E', 'mortise:/mirror/../metrics'],
    ...[
      'mortise:/mirror/',
      'mortise:/mirror/%ZZ',
      'mortise://mirror/a',
      'mortise:\\mirror\\a',
      'file:///etc/passwd',
    ],
    ...['..\\metrics', '..\\purchase?owner=*', '..#x', '%2e%2e\\', 'a?owner=*'].map(
      (id) => `mortise:/mirror/${id}`,
    ),
    ...['mortise:/openapi.json/../metrics', 'mortise:/openapi.json?x', 'mortise:/mirror/a/../../metrics'],
  ])
    await t.rejects(client.readResource({ uri }), /no resource|may be \. or/, uri)
})

t.test('a call is decided as if its client had sent it', async (t) => {
  const { app, user } = await shop(t, {
    modules: [mirror(t)],
    config: { server: { trustProxy: ['127.0.0.1'] } },
  })
  const { headers: credentials } = await user('ann')
    .begin('GET', '/mirror/a')
    .then(async (response) => {
      const chunks = await response.stream().toArray()
      return JSON.parse(Buffer.concat(chunks).toString()) as { headers: Record<string, string> }
    })
  const client = {
    ...{
      authorization: String(credentials.authorization),
      'x-real-ip': '192.0.2.7',
      forwarded: 'for=192.0.2.7',
    },
    ...{
      via: '1.1 proxy',
      'x-forwarded-for': '192.0.2.7',
      'x-forwarded-proto': 'https',
      'x-tenant': 'north',
    },
  }
  const direct = (await app.inject({ url: '/mirror/a', headers: client })).json()
  const response = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { ...client, accept: 'application/json, text/event-stream', cookie: 'guest=secret' },
    payload: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'getMirrorById', arguments: { id: 'a' } },
    },
  })
  const data = /^data: (.*)$/m.exec(response.body)?.[1] ?? response.body
  const { structuredContent: called } = JSON.parse(data).result
  t.same({ ...called, headers: 0 }, { ...direct, headers: 0 })
  t.match(called, { ip: '192.0.2.7', protocol: 'https', headers: client })
  t.notOk(called.headers.cookie, 'a cookie is for pages')
})

t.test('an argument of another type is refused, not converted', async (t) => {
  const { user } = await shop(t, { modules: [mirror(t)] })
  const client = await connect(t, user('ann'))
  const body = { product: 'tea', quantity: 1 }
  for (const [name, given, argument] of [
    ['postCartItem', { body, idempotencyKey: ['a'] }, 'idempotencyKey'],
    ['postCartItem', { body, idempotencyKey: 1 }, 'idempotencyKey'],
    ['postCartItem', { body, idempotencyKey: null }, 'idempotencyKey'],
    ['postCartItem', { body, ifMatch: ['"a"'] }, 'ifMatch'],
    ['getMirrorById', { id: ['a'] }, 'id'],
    ['getMirrorById', { id: { a: 1 } }, 'id'],
    ['getMirrorById', { id: 1 }, 'id'],
    ['getMirrors', { count: '2' }, 'count'],
    ['getMirrors', { count: [2] }, 'count'],
    ['getMirrors', { count: 2.5 }, 'count'],
    ['getMirrors', { name: true }, 'name'],
  ] as const) {
    const refused = await client.callTool({ name, arguments: given })
    t.match(
      refused,
      { isError: true, content: [{ text: new RegExp(`argument ${argument} `) }] },
      JSON.stringify(given),
    )
  }
  t.match(await client.callTool({ name: 'getMirrors', arguments: { count: 2, name: 'a' } }), {
    structuredContent: { count: 2 },
  })
  t.match((await client.callTool({ name: 'getCart', arguments: {} })).structuredContent, { itemCount: 0 })
})
