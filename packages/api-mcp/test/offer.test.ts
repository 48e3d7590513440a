import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { connect, shop } from './mcp-host.ts'

/** A module with a route for a scope, one for admin and one that sends no JSON. */
const office = (t: Test) => ({
  directory: t.testdir({
    'package.json': JSON.stringify({
      name: 'office',
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
      mortise: {
        id: 'office',
        host: '*',
        routes: ['GET /office/report', 'GET /office/secret', 'GET /office/logo'],
      },
    }),
    'index.js': `export default async (app) => {
      const response = { 200: { type: 'object', properties: { said: { type: 'string' } } } }
      const get = (path, access) =>
        app.get(path, { config: { access }, schema: { summary: path, response } }, async () => ({ said: path }))
      get('/office/report', 'office:read')
      get('/office/secret', 'admin')
      app.get('/office/logo', { config: { access: 'public' }, schema: { response: { 200: { content: { 'image/png': { schema: {} } } } } } },
        async (_request, reply) => reply.type('image/png').send(Buffer.from([1])))
    }`,
  }),
})

async function toolNames(t: Test, settings: object, scope?: string) {
  const { user } = await shop(t, { modules: [office(t)], config: { modules: { 'api-mcp': settings } } })
  const client = await connect(t, user('ann', scope))
  return { client, names: (await client.listTools()).tools.map(({ name }) => name) }
}

t.test('a token without the scope sees no such tool, and cannot call it', async (t) => {
  const without = await toolNames(t, {}, 'purchase:read')
  t.notOk(without.names.includes('getOfficeReport'))
  await t.rejects(without.client.callTool({ name: 'getOfficeReport', arguments: {} }), /no tool/)
  const { client, names } = await toolNames(t, {}, 'office:read')
  t.ok(names.includes('getOfficeReport'))
  t.match(await client.callTool({ name: 'getOfficeReport', arguments: {} }), {
    structuredContent: { said: '/office/report' },
  })
  t.notOk(names.includes('getOfficeLogo'), 'what sends no JSON is no tool')
})

t.test('a route for admin is offered only if the operator names it', async (t) => {
  t.notOk((await toolNames(t, {}, 'admin')).names.includes('getOfficeSecret'))
  const { names } = await toolNames(
    t,
    { include: ['GET /office/secret', 'api-cart'], exclude: ['DELETE /cart'] },
    'admin',
  )
  t.ok(names.includes('getOfficeSecret'))
  t.ok(names.includes('getCart'))
  t.notOk(names.includes('deleteCart'))
  t.notOk(names.includes('getPurchase'))
})

t.test('a parameter does not lead to another route', async (t) => {
  const { user } = await shop(t, {
    config: { modules: { 'api-mcp': { exclude: ['DELETE /cart', 'GET /cart'] } } },
  })
  const client = await connect(t, user('ann'))
  const { structuredContent } = await client.callTool({
    name: 'postCartItem',
    arguments: { body: { product: 'tea', quantity: 1 } },
  })
  for (const id of ['..', '.']) {
    const call = client.callTool({ name: 'deleteCartItemById', arguments: { id } })
    await t.rejects(call, /may be \. or/, id)
  }
  for (const id of ['..', '%2E%2e'])
    await t.rejects(client.readResource({ uri: `mortise:/purchase/${id}` }), /may be \. or/, id)
  const { id } = structuredContent as { id: string }
  const deleted = await client.callTool({ name: 'deleteCartItemById', arguments: { id } })
  t.notOk(deleted.isError, 'the item was there')
})

t.test('the endpoint itself takes no key: the messages in it may have one', async (t) => {
  const { app } = await shop(t)
  const { statusCode, body } = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { host: 'localhost', 'idempotency-key': 'k-1' },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  })
  t.equal(statusCode, 400)
  t.match(JSON.parse(body).error.message, /does not support Idempotency-Key/)
  const { paths } = (await app.inject('/openapi.json')).json()
  t.equal(paths['/mcp'].post.parameters, undefined, 'and does not declare it')
})

t.test('readOnly offers what only reads', async (t) => {
  const { names } = await toolNames(t, { readOnly: true })
  t.ok(names.length > 3)
  t.same(
    names.filter((name) => !name.startsWith('get')),
    [],
  )
})

t.test('a page of another site, and a strange name of this machine, are refused', async (t) => {
  const { app } = await shop(t, { config: { modules: { 'api-mcp': { origins: ['https://chat.example'] } } } })
  const payload = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const send = async (headers: Record<string, string>) =>
    (
      await app.inject({
        method: 'POST',
        url: '/mcp',
        headers: { host: 'localhost:3000', accept: 'application/json, text/event-stream', ...headers },
        payload,
      })
    ).statusCode
  t.equal(await send({}), 200)
  for (const origin of ['http://localhost:8080', 'https://chat.example'])
    t.equal(await send({ origin }), 200, origin)
  for (const origin of ['https://evil.example', 'null', 'http://chat.example', 'https://chat.example:8443'])
    t.equal(await send({ origin }), 403, origin)
})

t.test('clients find the issuers of tokens where they look for them', async (t) => {
  const authorizationServers = ['https://login.example']
  const { app } = await shop(t, { config: { modules: { 'api-mcp': { authorizationServers } } } })
  const found = await app.inject({
    url: '/.well-known/oauth-protected-resource/mcp',
    headers: { host: 'shop.example' },
  })
  t.same(found.json(), {
    resource: 'http://shop.example/mcp',
    authorization_servers: authorizationServers,
    scopes_supported: [],
    bearer_methods_supported: ['header'],
  })
  const { app: none } = await shop(t)
  t.match(await none.inject('/.well-known/oauth-protected-resource'), { statusCode: 404 })
})

t.test('below a base path the metadata are where RFC 9728 has them, and a 401 names them', async (t) => {
  const settings = { authorizationServers: ['https://login.example'] }
  for (const [config, origin] of [
    [{}, 'http://shop.example'],
    [{ publicUrl: 'https://mortise.example' }, 'https://mortise.example'],
  ] as const) {
    const { app } = await shop(t, {
      config: { basePath: '/api/v1', modules: { 'api-mcp': settings }, ...config },
    })
    const refused = await app.inject({
      method: 'POST',
      url: '/api/v1/mcp',
      headers: { host: 'shop.example', authorization: 'Bearer no' },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    })
    const challenge = String(refused.headers['www-authenticate'])
    const [, url = ''] = /resource_metadata="([^"]+)"$/.exec(challenge) ?? []
    t.match(challenge, /^Bearer error="invalid_token", .*, resource_metadata=/)
    t.equal(url, `${origin}/.well-known/oauth-protected-resource/api/v1/mcp`)
    const { pathname } = new URL(url)
    const found = await app.inject({ url: pathname, headers: { host: 'shop.example' } })
    t.match(found.json(), {
      resource: `${origin}/api/v1/mcp`,
      authorization_servers: ['https://login.example'],
    })
  }
  const { app } = await shop(t)
  const headers = { authorization: 'Bearer no' }
  const refused = await app.inject({ method: 'POST', url: '/mcp', headers, payload: { jsonrpc: '2.0' } })
  t.notMatch(refused.headers['www-authenticate'], /resource_metadata/, 'there are none without an issuer')
})

t.test('who accepts anything, or does not say, accepts both types', async (t) => {
  const { app } = await shop(t)
  const ask = (accept: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { host: 'localhost', ...accept },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    })
  for (const accept of ['*/*', 'text/html, */*;q=0.8', ' */* '])
    t.equal((await ask({ accept })).statusCode, 200, accept)
  t.equal((await ask({})).statusCode, 200)
  for (const accept of ['text/html', 'application/json, */*;q=0'])
    t.equal((await ask({ accept })).statusCode, 406, accept)
})

const catalogue = [{ directory: fileURLToPath(new URL('../../api-product', import.meta.url)) }]
const events = [{ directory: fileURLToPath(new URL('../../api-event', import.meta.url)) }]

t.test('a caller sees what its credentials allow, in every module', async (t) => {
  const { guest, user } = await shop(t, { modules: [...catalogue, ...events] })
  const seen = async (caller: Parameters<typeof connect>[1]) =>
    (await (await connect(t, caller)).listTools()).tools.map(({ name }) => name)
  const [asGuest, asUser, asManager] = await Promise.all([
    seen(guest()),
    seen(user('ann')),
    seen(user('bob', 'product:manage')),
  ])
  t.ok(asGuest.includes('postCartItem'), 'a guest may fill a cart')
  for (const name of ['deleteProductById', 'postProduct', 'getProductImportById'])
    t.same(
      [asGuest, asUser, asManager].map((names) => names.includes(name)),
      [false, false, true],
      name,
    )
  for (const name of ['postWebhook', 'deleteWebhookById'])
    t.same(
      [asGuest, asUser].map((names) => names.includes(name)),
      [false, true],
      name,
    )
})

t.test('the tools of a shop are some 60 kB, and refer to nothing', async (t) => {
  const { user } = await shop(t, { modules: [...catalogue, ...events] })
  const { tools } = await (await connect(t, user('ann', 'admin'))).listTools()
  const text = JSON.stringify(tools)
  t.ok(text.length < 60_000, `${text.length}`)
  t.notMatch(text, /"\$(ref|defs)"/)
  const purchase = tools.find(({ name }) => name === 'postPurchase')
  t.match(purchase?.outputSchema, {
    properties: { items: { items: { properties: { quantity: { type: 'integer' } } } } },
  })
})
