import type { TestCaller } from '@mortise/module-testkit'
import t, { type Test } from 'tap'
import { connect, shop } from './mcp-host.ts'

const tea = { product: 'tea', quantity: 2 }

/** The guest, who has a token since its first write. */
async function known(guest: TestCaller): Promise<TestCaller> {
  await guest.delete('/cart')
  return guest
}

const textOf = (result: { content: readonly object[] }) => (result.content[0] as { text: string }).text

for (const [revision, options] of [
  ['2026-07-28', undefined],
  ['2025-11-25', {}],
] as const) {
  t.test(`an agent fills a cart and buys it (${revision})`, async (t: Test) => {
    const { guest } = await shop(t)
    const client = await connect(t, await known(guest()), options)
    t.equal(client.getNegotiatedProtocolVersion(), revision)
    const { tools } = await client.listTools()
    t.match(
      tools.find(({ name }) => name === 'postCartItem'),
      {
        inputSchema: { type: 'object', properties: { body: {}, idempotencyKey: { type: 'string' } } },
        outputSchema: { type: 'object' },
        annotations: { readOnlyHint: false, destructiveHint: false },
      },
    )
    t.notOk(tools.some(({ name }) => /health|openapi|mcp/i.test(name)))

    const added = await client.callTool({ name: 'postCartItem', arguments: { body: tea } })
    t.match(added, { structuredContent: { product: 'tea', quantity: 2, version: 1 } })
    const shown = await client.callTool({ name: 'getCart', arguments: {} })
    t.match(shown.structuredContent, { itemCount: 1 })
    t.same(JSON.parse(textOf(shown)), shown.structuredContent)
    const bought = await client.callTool({
      name: 'postPurchase',
      arguments: { body: { items: [tea], takeFromCart: true } },
    })
    const { id } = bought.structuredContent as { id: string }
    const list = await client.callTool({ name: 'getPurchase', arguments: { rpp: 1 } })
    t.match(list.structuredContent, { data: [{ id }], rpp: 1 })

    const { resources } = await client.listResources()
    t.same(resources.map(({ uri }) => uri).sort(), ['mortise:/cart', 'mortise:/openapi.json'])
    const { resourceTemplates } = await client.listResourceTemplates()
    t.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'mortise:/purchase/{id}'))
    const read = await client.readResource({ uri: `mortise:/purchase/${id}` })
    t.match(JSON.parse((read.contents[0] as { text: string }).text), { id, status: 'pending' })
    await t.rejects(client.readResource({ uri: 'mortise:/metrics' }))
    await t.rejects(client.readResource({ uri: 'mortise:/purchase/..%2f..%2fmetrics' }))
  })
}

t.test('a problem is a tool error, the same as over HTTP', async (t) => {
  const { guest } = await shop(t)
  const { id } = (await guest().post('/cart/item', tea)).json()
  const caller = await known(guest())
  const client = await connect(t, caller)
  const overHttp = await caller.get(`/cart/item/${id}`)
  const other = await client.callTool({ name: 'getCartItemById', arguments: { id } })
  t.equal(other.isError, true)
  const { requestId: one, ...problem } = JSON.parse(textOf(other))
  const { requestId: two, ...expected } = overHttp.json()
  t.same(problem, expected)
  for (const [given, expectedText] of [
    [{ body: { product: 'tea', quantity: 0.5 } }, /invalid-request/],
    [{ body: tea, colour: 'red' }, /no argument colour/],
    [{ body: tea, ifMatch: '"old"' }, /precondition-failed/],
    [{}, /argument body is missing/],
  ] as const) {
    const refused = await client.callTool({ name: 'postCartItem', arguments: given })
    t.equal(refused.isError, true)
    t.match(textOf(refused), expectedText)
  }
  await t.rejects(client.callTool({ name: 'postCarts', arguments: {} }), /no tool postCarts/)
})

t.test('a write needs credentials, and says how to get them', async (t) => {
  const { app, guest } = await shop(t)
  const client = await connect(t, guest())
  t.match((await client.callTool({ name: 'getCart', arguments: {} })).structuredContent, { itemCount: 0 })
  const refused = await client.callTool({ name: 'postCartItem', arguments: { body: tea } })
  t.equal(refused.isError, true)
  t.match(textOf(refused), /POST \/guest/)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const headers = { authorization: 'Bearer no', accept: 'application/json, text/event-stream' }
  const bad = await app.inject({ method: 'POST', url: '/mcp', headers, payload: message })
  t.match(bad, { statusCode: 401, headers: { 'www-authenticate': /Bearer/ } })
  t.match(bad.json(), { jsonrpc: '2.0', error: { data: { code: 'unauthorized' } } })
})

t.test('a call that is sent again takes effect once', async (t) => {
  const { guest } = await shop(t)
  const caller = await known(guest())
  const post = (payload: object, more = {}) =>
    caller.request('POST', '/mcp', payload, { accept: 'application/json, text/event-stream', ...more })
  const begun = await post({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  })
  const session = { 'mcp-session-id': String(begun.headers['mcp-session-id']) }
  const buy = (id: number, given = {}) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'postPurchase', arguments: { body: { items: [tea] }, ...given } },
  })
  const total = async () => (await caller.get('/purchase')).json().total
  const first = await post(buy(1), session)
  t.equal((await post(buy(1), session)).body, first.body)
  t.equal(await total(), 1)
  await post(buy(2), session)
  t.equal(await total(), 2, 'the same purchase again, on purpose')
  await post(buy(1), { 'mcp-session-id': 'another session' })
  t.equal(await total(), 3)
  for (const id of [7, 8]) await post(buy(id, { idempotencyKey: 'my-key' }), session)
  t.equal(await total(), 4, 'the agent named the change')
})

t.test('a client hears of the next generation', async (t) => {
  const { app, guest } = await shop(t)
  const changed = Promise.withResolvers<void>()
  await connect(t, await known(guest()), {
    versionNegotiation: { mode: 'auto' },
    listChanged: { tools: { autoRefresh: false, onChanged: () => changed.resolve() } },
  })
  app.retire?.()
  await changed.promise
})

t.test('streams of all modules share the places of an address', async (t) => {
  const { app, guest, user } = await shop(t)
  const open = async (caller: TestCaller) =>
    connect(t, caller, {
      versionNegotiation: { mode: 'auto' },
      listChanged: { tools: { autoRefresh: false, onChanged: () => {} } },
    })
  for (let index = 0; index < 20; index += 1) await open(guest())
  const listen = (headers = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { host: 'localhost', accept: 'application/json, text/event-stream', ...headers },
      payload: { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {} },
    })
  const refused = await listen()
  t.match(refused, { statusCode: 429, headers: { 'retry-after': '10' } })
  t.match(refused.json().error.data, { code: 'too-many-streams-per-address' })
  t.equal((await app.inject('/cart')).statusCode, 200, 'guests are served')
  const ann = await open(user('ann'))
  t.match((await ann.callTool({ name: 'getCart', arguments: {} })).structuredContent, { itemCount: 0 })
})

t.test('a hundred sessions at the same time see their own carts', async (t) => {
  const { guest } = await shop(t)
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const client = await connect(t, await known(guest()))
      await client.callTool({
        name: 'postCartItem',
        arguments: { body: { product: `tea ${index}`, quantity: 1 } },
      })
      const { structuredContent } = await client.callTool({ name: 'getCart', arguments: {} })
      t.match(structuredContent, { items: [{ product: `tea ${index}` }], itemCount: 1 })
    }),
  )
})
