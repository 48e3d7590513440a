import { run, sql } from '@mortise/module-sdk'
import { test } from 'tap'
import { ann, loopback, testOnEngines, webhookHost } from './webhook-host.ts'

const url = 'https://shop.example/hook'
const UNKNOWN = 'webhook_01kahr3v8ze5x9g2w0m4c7t6ys'

testOnEngines('a webhook is made, shown, changed and deleted; its secret is shown once', async (t) => {
  const host = await webhookHost(t)
  const created = await host.ann.post('/webhook', { url, types: ['purchase.created'] })
  t.equal(created.statusCode, 201)
  const { secret, ...webhook } = created.json()
  t.match(webhook, {
    id: /^webhook_[0-7][0-9a-z]{25}$/,
    url,
    types: ['purchase.created'],
    everyone: false,
    description: '',
    enabled: true,
    disabledReason: null,
    failingSince: null,
    version: 1,
  })
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const path = `/webhook/${webhook.id}`
  t.equal(created.headers.location, path)
  const shown = await host.ann.get(path)
  t.same(shown.json(), webhook)
  t.same((await host.ann.get('/webhook')).json().data, [webhook])

  const change = { description: 'bills', types: ['*'], enabled: false, url: 'https://SHOP.example:443/other' }
  const changed = await host.ann.patch(path, change, { 'if-match': shown.headers.etag as string })
  t.match(changed.json(), { ...change, url: 'https://shop.example/other', version: 2, secret: undefined })
  t.equal((await host.ann.patch(path, change, { 'if-match': shown.headers.etag as string })).statusCode, 412)
  const rotated = await host.ann.post(`${path}/secret`)
  t.equal(rotated.statusCode, 201)
  t.match(rotated.json().secret, /^whsec_/)
  t.not(rotated.json().secret, secret)
  t.equal((await host.ann.get(path)).json().version, 3)

  const everything = JSON.stringify([
    (await host.ann.get(path)).json(),
    (await host.ann.get('/webhook')).json(),
    (await host.user('root', 'admin').get('/webhook?owner=*')).json(),
    (await host.ann.patch(path, { description: '' })).json(),
    await host.database.many(sql`SELECT details FROM mortise_audit`),
  ])
  t.notOk(everything.includes('whsec_'))
  t.match(
    await host.database.many(sql`SELECT actor, action, object FROM mortise_audit ORDER BY seq`),
    ['created', 'changed', 'secret-rotated', 'changed'].map((what) => ({
      actor: ann,
      action: `webhook.${what}`,
      object: webhook.id,
    })),
  )

  t.same((await host.ann.delete(path)).json(), { id: webhook.id, deleted: true })
  t.equal((await host.ann.get(path)).statusCode, 404)
  t.same((await host.ann.get('/webhook')).json().data, [])
})

testOnEngines('a cursor walk that deletes its webhooks sees each once', async (t) => {
  const host = await webhookHost(t)
  const admin = host.user('root', 'admin')
  const made: string[] = []
  for (let count = 0; count < 7; count++) made.unshift((await host.ann.post('/webhook', { url })).json().id)
  for (const [caller, query] of [
    [host.ann, ''],
    [admin, `&owner=${ann}`],
    [admin, '&owner=*'],
  ] as const) {
    const met: string[] = []
    for (
      let path: string | undefined = `/webhook?rpp=2${query}&after=webhook_7zzzzzzzzzzzzzzzzzzzzzzzzz`;
      path;
    ) {
      const response = await caller.get(path)
      t.same(Object.keys(response.json()), ['data', 'rpp'])
      const ids = response.json().data.map((webhook: { id: string }) => webhook.id)
      met.push(...ids)
      if (query === '&owner=*') for (const id of ids) await admin.delete(`/webhook/${id}`)
      path = /^<([^>]+)>; rel="next"$/.exec(String(response.headers.link))?.[1]
    }
    t.same(met, made, query)
  }
  // The rows of deleted ones go: their ids still say the place.
  await host.database.transaction(() => run(sql`DELETE FROM webhook`))
  t.strictSame((await host.ann.get(`/webhook?after=${made[3]}`)).json(), { data: [], rpp: 20 })
  for (const query of ['after=', 'after=x', `after=${made[3]}x`, 'after=event_01kahr3v8ze5x9g2w0m4c7t6ys']) {
    const response = await host.ann.get(`/webhook?${query}`)
    t.equal(response.statusCode, 400, query)
    t.match(response.json().errors, [{ parameter: 'after' }])
  }
  t.match((await host.ann.get(`/webhook?page=1&after=${made[3]}`)).json().errors, [{ parameter: 'page' }])
})

testOnEngines('only its owner sees a webhook, and admin', async (t) => {
  const host = await webhookHost(t)
  const { id } = (await host.ann.post('/webhook', { url })).json()
  await host.happen('purchase_a')
  const [delivery] = (await host.ann.get(`/webhook/${id}/delivery`)).json().data
  const routes = (webhook: string) =>
    [
      ['GET', ''],
      ['PATCH', '', { enabled: false }],
      ['PATCH', '', { unknown: 1 }],
      ['POST', '/secret'],
      ['POST', '/test'],
      ['GET', '/delivery'],
      ['GET', `/delivery/${delivery.id}`],
      ['POST', `/delivery/${delivery.id}/replay`],
      ['DELETE', ''],
    ].map(([method, path, body]) => [method, `/webhook/${webhook}${path}`, body] as const)
  const guest = host.guest()
  await guest.post('/guest')
  for (const other of [host.user('ben', 'event:read'), guest]) {
    t.same((await other.get('/webhook')).json().data, [])
    for (const [index, [method, path, body]] of routes(id).entries()) {
      const refused = (await other.request(method as 'GET', path, body as object)).json()
      const [, unknownPath] = routes(UNKNOWN)[index] as readonly [string, string, unknown]
      const unknown = (await other.request(method as 'GET', unknownPath, body as object)).json()
      t.equal(refused.code, 'webhook-not-found', path)
      t.same({ ...refused, requestId: '' }, { ...unknown, requestId: '' })
    }
  }
  t.equal((await host.user('ben').get('/webhook?owner=*')).json().code, 'insufficient-scope')
  const admin = host.user('root', 'admin')
  t.same((await admin.get('/webhook')).json().data, [])
  t.match((await admin.get('/webhook?owner=*')).json(), { data: [{ id, owner: ann }], total: 1 })
  t.match((await admin.get(`/webhook?owner=${ann}`)).json().data, [{ id }])
  t.match((await admin.patch(`/webhook/${id}`, { enabled: false })).json(), { id, enabled: false })
  t.equal((await host.ann.get(`/webhook/${id}`)).json().owner, undefined)
  t.equal((await admin.get(`/webhook/${id}/delivery/event_x`)).json().code, 'delivery-not-found')
})

testOnEngines("everyone's events take event:read; a guest has no webhooks; there is a limit", async (t) => {
  const host = await webhookHost(t, { ...loopback, webhooksPerCaller: 2 })
  const reader = host.user('ann', 'event:read')
  t.equal((await host.ann.post('/webhook', { url, everyone: true })).json().code, 'insufficient-scope')
  const { id } = (await reader.post('/webhook', { url, everyone: true })).json()
  const path = `/webhook/${id}`
  for (const sent of [
    host.ann.patch(path, { url: 'https://elsewhere.example/' }),
    host.ann.post(`${path}/secret`),
    host.ann.post(`${path}/test`),
  ])
    t.equal((await sent).json().code, 'insufficient-scope')
  t.match((await host.ann.patch(path, { everyone: false })).json(), { everyone: false, version: 2 })
  t.equal((await host.ann.patch(path, { everyone: true })).json().code, 'insufficient-scope')
  t.equal((await host.guest().post('/webhook', { url })).json().code, 'sign-in-needed')
  const made = await Promise.all([1, 2, 3].map(() => host.ann.post('/webhook', { url })))
  t.same(made.map(({ statusCode }) => statusCode).sort(), [201, 409, 409])
  t.equal((await host.ann.post('/webhook', { url })).json().code, 'webhook-limit')
  await host.ann.delete(path)
  t.equal((await host.ann.post('/webhook', { url })).statusCode, 201)
})

test('two requests with one Idempotency-Key create one webhook', async (t) => {
  const host = await webhookHost(t)
  const headers = { 'idempotency-key': 'a' }
  const [one, two] = await Promise.all([1, 2].map(() => host.ann.post('/webhook', { url }, headers)))
  t.equal(one?.body, two?.body)
  t.equal((await host.ann.get('/webhook')).json().total, 1)
  const path = `/webhook/${one?.json().id}`
  const first = await host.ann.post(`${path}/secret`, undefined, headers)
  t.equal((await host.ann.post(`${path}/secret`, undefined, headers)).body, first.body)
})

testOnEngines('a replayed secret still needs the scope of its webhook', async (t) => {
  const host = await webhookHost(t)
  const headers = { 'idempotency-key': 'a' }
  const reader = host.user('ann', 'event:read')
  const create = (by: typeof reader) => by.post('/webhook', { url, everyone: true }, headers)
  const made = await create(reader)
  t.equal(made.statusCode, 201)
  const rotate = (by: typeof reader) => by.post(`/webhook/${made.json().id}/secret`, undefined, headers)
  const rotated = await rotate(reader)
  t.equal(rotated.statusCode, 201)
  for (const refused of [await create(host.ann), await rotate(host.ann)])
    t.match(refused.json(), { code: 'insufficient-scope', detail: /event:read/ })
  t.equal((await create(reader)).body, made.body)
  t.equal((await rotate(reader)).body, rotated.body)
})

const rejected: [string, object, string][] = [
  ['no URL', {}, '/url'],
  ['an empty one', { url: '' }, '/url'],
  ['no host', { url: 'https://' }, '/url'],
  ['another scheme', { url: 'ftp://shop.example/' }, '/url'],
  ['http', { url: 'http://shop.example/' }, '/url'],
  ['a user', { url: 'https://ann:pw@shop.example/' }, '/url'],
  ['a fragment', { url: 'https://shop.example/#a' }, '/url'],
  ['a blank', { url: ' https://shop.example/' }, '/url'],
  ['a private address', { url: 'https://10.0.0.1/' }, '/url'],
  ['one in another notation', { url: 'https://0xa000001/' }, '/url'],
  ['an IPv4-mapped one', { url: 'https://[::ffff:169.254.169.254]/' }, '/url'],
  ['a long one', { url: `https://shop.example/${'a'.repeat(2048)}` }, '/url'],
  ['no types', { url, types: [] }, '/types'],
  ['a type that cannot be', { url, types: ['Purchase'] }, '/types/0'],
  ['a type that no module emits', { url, types: ['purchase.deleted', 'purchase.lost'] }, '/types/1'],
  ['the type of a test', { url, types: ['webhook.test'] }, '/types/0'],
  ['a type twice', { url, types: ['a.b', 'a.b'] }, '/types'],
  ['null', { url, description: null }, '/description'],
  ['a secret', { url, secret: 'whsec_a' }, '/secret'],
]
test('an invalid webhook is refused on POST and PATCH', async (t) => {
  const host = await webhookHost(t, {})
  const { id } = (await host.ann.post('/webhook', { url })).json()
  for (const [name, body, pointer] of rejected) {
    const made = await host.ann.post('/webhook', body)
    t.equal(made.statusCode, 400, name)
    t.equal(made.json().errors[0].pointer, pointer, name)
    const changed = await host.ann.patch(`/webhook/${id}`, body)
    t.equal(changed.statusCode, 400, name)
    if ('types' in body) t.equal(changed.json().errors[0].pointer, pointer, name)
  }
  t.equal((await host.ann.get('/webhook')).json().total, 1)
  for (const path of ['/webhook?rpp=0', '/webhook?x=1', `/webhook/${id}/delivery?limit=101`])
    t.equal((await host.ann.get(path)).statusCode, 400, path)
})

test('a type whose module is gone stays with the webhook that has it', async (t) => {
  const host = await webhookHost(t)
  const { id } = (await host.ann.post('/webhook', { url, types: ['purchase.created'] })).json()
  const path = `/webhook/${id}`
  await host.database.transaction(() =>
    run(sql`UPDATE webhook SET types = '["gone.away","purchase.created"]'`),
  )
  t.equal((await host.ann.patch(path, { types: ['gone.away'] })).statusCode, 200)
  t.match((await host.ann.patch(path, { description: 'bills' })).json(), { types: ['gone.away'] })
  t.equal((await host.ann.patch(path, { types: ['purchase.created'] })).statusCode, 200)
  t.equal((await host.ann.patch(path, { types: ['gone.away'] })).statusCode, 400)
})
