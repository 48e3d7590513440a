import { sql } from '@mortise/module-sdk'
import type { TestCaller } from '@mortise/module-testkit'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

const UNKNOWN = 'purchase_01kahr3v8ze5x9g2w0m4c7t6ys'
const tea = { items: [{ product: 'tea', quantity: 2 }] }

async function purchased(caller: TestCaller, body: object = tea) {
  const response = await caller.post('/purchase', body)
  return response.json()
}

testOnEngines('POST /purchase returns 201 with the purchase and its location', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const items = [
    { product: 'tea', quantity: 2 },
    { product: 'milk', quantity: 1 },
  ]
  const created = await ann.post('/purchase', { items })
  t.equal(created.statusCode, 201)
  const purchase = created.json()
  t.match(purchase.id, /^purchase_[0-7][0-9a-z]{25}$/)
  t.match(purchase.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.match(purchase, { status: 'pending', itemCount: 2, totalQuantity: 3, total: null, version: 1 })
  t.match(purchase.items, [
    { ...items[0], note: null, name: null, unitPrice: null, lineTotal: null },
    { ...items[1], note: null, name: null, unitPrice: null, lineTotal: null },
  ])
  t.notOk('owner' in purchase)
  t.equal(created.headers.location, `/purchase/${purchase.id}`)
  t.same((await ann.get(`/purchase/${purchase.id}`)).json(), purchase)
  t.same((await ann.get(`/purchase/${purchase.id}/item`)).json(), { data: purchase.items })
  const { items: _, ...summary } = purchase
  t.same((await ann.get('/purchase')).json(), {
    data: [summary],
    page: 1,
    rpp: 20,
    total: 1,
    totalIsExact: true,
    pages: 1,
  })
})

testOnEngines('the location of a purchase is below the base path', async (t) => {
  const host = await purchaseHost(t, { config: { basePath: '/api' } })
  const created = await host.user('ann').post('/purchase', tea)
  t.equal(created.headers.location, `/api/purchase/${created.json().id}`)
})

testOnEngines('items have notes; the last note of a product counts', async (t) => {
  const ann = (await purchaseHost(t)).user('ann')
  const items = [
    { product: 'tea', quantity: 1, note: 'loose' },
    { product: 'milk', quantity: 1 },
    { product: 'tea', quantity: 1, note: 'in bags' },
    { product: 'tea', quantity: 1 },
  ]
  const purchase = await purchased(ann, { items })
  t.match(purchase.items, [
    { product: 'tea', quantity: 3, note: 'in bags' },
    { product: 'milk', quantity: 1, note: null },
  ])
  t.same((await ann.get(`/purchase/${purchase.id}`)).json(), purchase)
  for (const note of ['', ' ', 'x'.repeat(201), 1]) {
    const refused = await ann.post('/purchase', { items: [{ product: 'tea', quantity: 1, note }] })
    t.match(refused.json(), { status: 400, errors: [{ pointer: '/items/0/note' }] })
  }
})

testOnEngines('a product named twice is one item, at its first position', async (t) => {
  const host = await purchaseHost(t)
  const { items, itemCount, totalQuantity } = await purchased(host.user('ann'), {
    items: [
      { product: 'milk', quantity: 1 },
      { product: 'tea', quantity: 5000 },
      { product: 'milk', quantity: 2 },
      { product: 'Tea', quantity: 1 },
      { product: 'tea', quantity: 4999 },
    ],
  })
  t.match(items, [
    { product: 'milk', quantity: 3 },
    { product: 'tea', quantity: 9999 },
    { product: 'Tea', quantity: 1 },
  ])
  t.equal(itemCount, 3)
  t.equal(totalQuantity, 10_003)
})

testOnEngines('a purchase has at most 200 items', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const items = Array.from({ length: 200 }, (_, index) => ({ product: `product ${index}`, quantity: 9999 }))
  t.match(await purchased(ann, { items }), { itemCount: 200, totalQuantity: 200 * 9999 })
  const longest = items.map((_, index) => ({ product: '𝒳'.repeat(124) + String(index + 1000), quantity: 1 }))
  t.equal((await ann.post('/purchase', { items: longest })).statusCode, 201)
  const tooMany = await ann.post('/purchase', { items: [...items, { product: 'one more', quantity: 1 }] })
  t.equal(tooMany.statusCode, 400)
  t.equal(tooMany.json().errors[0].pointer, '/items')
})

const item = { product: 'tea', quantity: 1 }
const rejected: [string, unknown, string[]][] = [
  ['no body', undefined, ['']],
  ['no items', {}, ['/items']],
  ['an empty list', { items: [] }, ['/items']],
  ['one item without a list', { items: item }, ['/items']],
  ['null for items', { items: null }, ['/items']],
  ['null for an item', { items: [null] }, ['/items/0']],
  ['an item without product', { items: [item, { quantity: 1 }] }, ['/items/1/product']],
  ['an item without quantity', { items: [{ product: 'tea' }] }, ['/items/0/quantity']],
  ['a negative quantity', { items: [item, { product: 'tea', quantity: -1 }] }, ['/items/1/quantity']],
  ['a quantity of 0', { items: [{ product: 'tea', quantity: 0 }] }, ['/items/0/quantity']],
  ['a quantity that is text', { items: [{ product: 'tea', quantity: '1' }] }, ['/items/0/quantity']],
  ['a fraction', { items: [{ product: 'tea', quantity: 0.5 }] }, ['/items/0/quantity']],
  ['a product of blanks', { items: [{ product: '\u2003', quantity: 1 }] }, ['/items/0/product']],
  ['a product with a tab', { items: [{ product: 'a\tb', quantity: 1 }] }, ['/items/0/product']],
  ['a price', { items: [{ ...item, unitPrice: 1 }] }, ['/items/0/unitPrice']],
  ['a negative total', { items: [item], total: { amount: -5, currency: 'EUR' } }, ['/total']],
  ['a status', { items: [item], status: 'completed' }, ['/status']],
  ['a product with a NUL', { items: [{ product: 'tea\0', quantity: 1 }] }, ['/items/0/product']],
  ['an owner', { items: [item], owner: 'user:other' }, ['/owner']],
  [
    'a sum over 9999',
    { items: [{ ...item, quantity: 9999 }, { product: 'milk', quantity: 1 }, item] },
    ['/items/2/quantity'],
  ],
]

testOnEngines(
  'POST /purchase rejects an invalid body, points at the error, and changes nothing',
  async (t) => {
    const host = await purchaseHost(t)
    const ann = host.user('ann')
    for (const [what, body, pointers] of rejected) {
      const response = await ann.post('/purchase', body as object, { 'content-type': 'application/json' })
      t.equal(response.statusCode, 400, what)
      t.equal(response.headers['content-type'], 'application/problem+json')
      t.same(
        response.json().errors.map((error: { pointer: string }) => error.pointer),
        pointers,
        `${what} is pointed at`,
      )
    }
    t.equal((await ann.get('/purchase')).json().total, 0)
  },
)

testOnEngines('GET /purchase rejects an invalid query and names the parameter', async (t) => {
  const host = await purchaseHost(t)
  const reader = host.user('reader', 'purchase:read')
  for (const [query, parameter] of [
    ...['0', '-1', '+1', '01', '1.0', '1e1', '0x10', '%202', '', 'one', '2147483648', '9'.repeat(30)].map(
      (text) => [`page=${text}`, 'page'] as const,
    ),
    ...['0', '101', '-5', '', 'all'].map((text) => [`rpp=${text}`, 'rpp'] as const),
    ...['', 'paid', 'PENDING', 'pending,', ',', 'pending,paid', 'pending,,expired', 'pending%20'].map(
      (text) => [`status=${text}`, 'status'] as const,
    ),
    ...['', '0', 'x', UNKNOWN, '%00', 'x'.repeat(2000)].map((text) => [`until=${text}`, 'until'] as const),
    ['owner=', 'owner'],
    ['page=1&page=2', 'page'],
    ['status=pending&status=expired', 'status'],
    ['limit=5', 'limit'],
  ] as const) {
    const response = await reader.get(`/purchase?${query}`)
    t.equal(response.statusCode, 400, query)
    t.equal(response.json().errors[0].parameter, parameter, query)
  }
})

testOnEngines('a page that begins beyond row 10,000 is refused with the remedy', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  await purchased(ann)
  for (const query of ['page=101&rpp=100', 'page=501', 'page=2147483647']) {
    const response = await ann.get(`/purchase?${query}`)
    t.equal(response.statusCode, 400, query)
    t.match(response.json().errors, [{ parameter: 'page', detail: /`after`/ }])
  }
})

testOnEngines('GET /purchase accepts values at the limits', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  await purchased(ann)
  for (const query of [
    '',
    '?page=1',
    '?rpp=1',
    '?rpp=100',
    '?status=pending',
    '?status=pending,pending,expired',
  ]) {
    const response = await ann.get(`/purchase${query}`)
    t.equal(response.statusCode, 200, query)
    t.equal(response.json().data.length, 1)
  }
  t.match((await ann.get('/purchase?page=100&rpp=100')).json(), {
    data: [],
    page: 100,
    rpp: 100,
    total: 1,
    totalIsExact: true,
    pages: 1,
  })
  t.match((await ann.get('/purchase?status=completed')).json(), { data: [], total: 0, pages: 0 })
})

for (const { name, scope, query } of [
  { name: "the caller's own list", scope: undefined, query: '' },
  { name: "everyone's list", scope: 'purchase:read', query: '&owner=*' },
]) {
  testOnEngines(
    `walking ${name} by its links shows each purchase once while others are created`,
    async (t) => {
      const host = await purchaseHost(t)
      const ann = host.user('ann', scope)
      const made: string[] = []
      for (let index = 0; index < 9; index++) made.unshift((await purchased(ann)).id)

      const seen: string[] = []
      let next: string | undefined = `/purchase?rpp=2&status=pending,confirmed${query}`
      while (next) {
        const response = await ann.get(next)
        const { data, total, pages } = response.json()
        t.same([total, pages], [9, 5])
        seen.push(...data.map((purchase: { id: string }) => purchase.id))
        next = /<([^>]+)>; rel="next"/.exec(String(response.headers.link))?.[1]
        await purchased(ann)
      }
      t.same(seen, made)
      t.equal((await ann.get('/purchase')).json().total, 14)
    },
  )
}

testOnEngines('an empty list has no links', async (t) => {
  const host = await purchaseHost(t)
  const response = await host.user('ann').get('/purchase')
  t.same(response.json(), { data: [], page: 1, rpp: 20, total: 0, totalIsExact: true, pages: 0 })
  t.equal(response.headers.link, undefined)
})

testOnEngines('PATCH /purchase/:id allows exactly the transitions of the table', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const manager = host.user('manager', 'purchase:manage')
  const table: Record<string, string[]> = {
    pending: ['confirmed', 'cancelled'],
    confirmed: ['completed', 'cancelled'],
    completed: [],
    cancelled: [],
  }
  const ways: Record<string, string[]> = {
    pending: [],
    confirmed: ['confirmed'],
    completed: ['confirmed', 'completed'],
    cancelled: ['cancelled'],
  }
  for (const [from, allowed] of Object.entries(table)) {
    for (const to of ['pending', 'confirmed', 'completed', 'cancelled', 'expired']) {
      const { id } = await purchased(ann)
      for (const step of ways[from] as string[]) await manager.patch(`/purchase/${id}`, { status: step })
      const response = await manager.patch(`/purchase/${id}`, { status: to })
      if (allowed.includes(to)) {
        t.equal(response.statusCode, 200, `${from} to ${to}`)
        t.match(response.json(), { id, status: to, items: tea.items })
        t.same((await manager.get(`/purchase/${id}`)).json(), response.json())
      } else {
        t.equal(response.statusCode, 409, `${from} to ${to}`)
        t.match(response.json(), {
          code: 'illegal-transition',
          type: 'urn:problem-type:api-purchase:illegal-transition',
        })
        t.same(response.json().allowed, allowed)
        t.equal((await ann.get(`/purchase/${id}`)).json().status, from)
      }
    }
  }
})

testOnEngines('PATCH /purchase/:id checks in the order 404, 400, 409, 403', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const reader = host.user('reader', 'purchase:read')
  const { id } = await purchased(ann)
  const judged = async (caller: TestCaller, id: string, status: unknown) => {
    const response = await caller.patch(`/purchase/${id}`, { status })
    return [response.statusCode, response.json().code ?? response.json().status]
  }
  t.same(await judged(ann, UNKNOWN, 'paid'), [404, 'purchase-not-found'])
  t.same(await judged(host.user('stranger'), id, 'paid'), [404, 'purchase-not-found'])
  t.same(await judged(ann, UNKNOWN, 5), [404, 'purchase-not-found'])
  t.same(await judged(host.user('stranger'), id, null), [404, 'purchase-not-found'])
  t.same(await judged(ann, id, 'paid'), [400, 'invalid-request'])
  t.same(await judged(ann, id, 5), [400, 'invalid-request'])
  t.same(await judged(ann, id, ''), [400, 'invalid-request'])
  t.same(await judged(ann, id, '__proto__'), [400, 'invalid-request'])
  t.same(await judged(ann, id, 'completed'), [409, 'illegal-transition'])
  t.same(await judged(ann, id, 'pending'), [409, 'illegal-transition'])
  t.same(await judged(ann, id, 'confirmed'), [403, 'insufficient-scope'])
  t.same(await judged(reader, id, 'paid'), [400, 'invalid-request'])
  t.same(await judged(reader, id, 'expired'), [409, 'illegal-transition'])
  t.same(await judged(reader, id, 'cancelled'), [403, 'insufficient-scope'])
  t.same(await judged(ann, id, 'cancelled'), [200, 'cancelled'])
  t.same(await judged(ann, id, 'cancelled'), [409, 'illegal-transition'])
})

testOnEngines('PATCH /purchase/:id rejects an invalid body and points at the error', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const { id } = await purchased(ann)
  for (const [body, pointer] of [
    [{}, '/status'],
    [{ status: 'paid' }, '/status'],
    [{ status: null }, '/status'],
    [{ status: ['cancelled'] }, '/status'],
    [{ status: 'cancelled', total: null }, '/total'],
  ] as const) {
    const response = await ann.patch(`/purchase/${id}`, body)
    t.equal(response.statusCode, 400)
    t.equal(response.json().errors[0].pointer, pointer)
  }
  t.equal((await ann.get(`/purchase/${id}`)).json().version, 1)
})

testOnEngines('DELETE /purchase/:id removes a purchase from every response', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const admin = host.user('root', 'admin')
  const cancelled = await purchased(ann)
  await ann.patch(`/purchase/${cancelled.id}`, { status: 'cancelled' })
  for (const { id } of [await purchased(ann), cancelled]) {
    const response = await ann.delete(`/purchase/${id}`)
    t.equal(response.statusCode, 200)
    t.same(response.json(), { id, deleted: true })
    for (const caller of [ann, admin]) {
      t.equal((await caller.get(`/purchase/${id}`)).statusCode, 404)
      t.equal((await caller.get(`/purchase/${id}/item`)).statusCode, 404)
      t.equal((await caller.patch(`/purchase/${id}`, { status: 'confirmed' })).statusCode, 404)
      t.equal((await caller.delete(`/purchase/${id}`)).statusCode, 404)
    }
  }
  t.equal((await ann.get('/purchase')).json().total, 0)
  t.equal((await admin.get('/purchase?owner=*')).json().total, 0)
  const kept = await host.database.many(sql`SELECT deleted_at > 0 AS kept FROM purchase`)
  t.same(kept, [{ kept: 1 }, { kept: 1 }], 'but not from the audit trail')
})

testOnEngines('DELETE /purchase/:id rejects a confirmed or completed purchase', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const admin = host.user('root', 'admin')
  const { id } = await purchased(ann)
  for (const status of ['confirmed', 'completed']) {
    await admin.patch(`/purchase/${id}`, { status })
    for (const caller of [ann, admin]) {
      const response = await caller.delete(`/purchase/${id}`)
      t.equal(response.statusCode, 409)
      t.equal(response.json().code, 'not-deletable')
    }
    t.equal((await ann.get(`/purchase/${id}`)).json().status, status)
  }
})

testOnEngines("another caller's purchase is 404 for every method", async (t) => {
  const host = await purchaseHost(t)
  const owner = host.user('owner')
  const guest = host.guest()
  const ids = [(await purchased(owner)).id, (await purchased(guest)).id]
  const deleted = await purchased(owner)
  await owner.delete(`/purchase/${deleted.id}`)
  for (const stranger of [host.user('stranger'), host.user('other', 'cart:manage purchase'), host.guest()]) {
    await purchased(stranger)
    const problems = new Set<string>()
    for (const id of [...ids, deleted.id, UNKNOWN, 'x', '%FF', 'x'.repeat(300)]) {
      for (const response of [
        await stranger.get(`/purchase/${id}`),
        await stranger.get(`/purchase/${id}/item`),
        await stranger.patch(`/purchase/${id}`, { status: 'cancelled' }),
        await stranger.patch(`/purchase/${id}`, { status: 'paid' }),
        await stranger.delete(`/purchase/${id}`),
      ]) {
        t.equal(response.statusCode, 404)
        problems.add(response.body.replace(response.json().requestId, ''))
      }
    }
    t.equal(problems.size, 1, 'and nothing distinguishes these')
    t.equal((await stranger.get('/purchase')).json().total, 1)
    for (const whose of ['*', 'user:owner']) {
      const response = await stranger.get(`/purchase?owner=${whose}`)
      t.equal(response.statusCode, 403)
      t.equal(response.json().code, 'insufficient-scope')
      t.match(response.headers['www-authenticate'], /insufficient_scope.*purchase:read/)
    }
    const until = await stranger.get(`/purchase?until=${ids[0]}`)
    const unknown = await stranger.get(`/purchase?until=${UNKNOWN}`)
    t.equal(until.statusCode, 400)
    t.same({ ...until.json(), requestId: '' }, { ...unknown.json(), requestId: '' })
  }
  for (const [index, caller] of [owner, guest].entries()) {
    t.match((await caller.get(`/purchase/${ids[index]}`)).json(), { status: 'pending', version: 1 })
  }
})

testOnEngines('purchase:read shows everyone their purchases, with owners, and changes none', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const { id } = await purchased(ann)
  await purchased(host.user('bob'))
  const reader = host.user('reader', 'purchase:read')
  await purchased(reader)

  const seen = (await reader.get(`/purchase/${id}`)).json()
  t.match(seen, { id, items: tea.items, owner: /ann$/ })
  t.match((await reader.get(`/purchase/${id}/item`)).json(), { data: tea.items })
  t.equal((await reader.get('/purchase')).json().total, 1, 'the own list is still the own')
  const all = (await reader.get('/purchase?owner=*')).json()
  t.match(all.data, [{ owner: /reader$/ }, { owner: /bob$/ }, { owner: /ann$/ }])
  const anns = (await reader.get(`/purchase?owner=${encodeURIComponent(seen.owner)}`)).json()
  t.match(anns, { data: [{ id }], total: 1 })
  t.equal((await reader.get('/purchase?owner=nobody')).json().total, 0)

  t.equal((await reader.patch(`/purchase/${id}`, { status: 'confirmed' })).statusCode, 403)
  t.equal((await reader.delete(`/purchase/${id}`)).statusCode, 403)
  t.match((await ann.get(`/purchase/${id}`)).json(), { status: 'pending', version: 1 })
})

testOnEngines('purchase:manage reads and changes, and does not delete', async (t) => {
  const host = await purchaseHost(t)
  const { id } = await purchased(host.user('ann'))
  const manager = host.user('manager', 'purchase:manage')
  t.match((await manager.get(`/purchase/${id}`)).json(), { owner: /ann$/ })
  t.equal((await manager.get('/purchase?owner=*')).json().total, 1)
  t.equal((await manager.delete(`/purchase/${id}`)).statusCode, 403)
  t.equal((await manager.patch(`/purchase/${id}`, { status: 'confirmed' })).statusCode, 200)
})

testOnEngines('admin may do everything', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const admin = host.user('root', 'admin')
  const { id } = await purchased(ann)
  t.match((await admin.get(`/purchase/${id}`)).json(), { owner: /ann$/ })
  t.equal((await admin.delete(`/purchase/${id}`)).statusCode, 200)
  t.equal((await ann.get(`/purchase/${id}`)).statusCode, 404)
})

testOnEngines('a guest keeps purchases', async (t) => {
  const host = await purchaseHost(t)
  const guest = host.guest()
  const purchase = await purchased(guest)
  t.same((await guest.get(`/purchase/${purchase.id}`)).json(), purchase)
  t.equal((await guest.patch(`/purchase/${purchase.id}`, { status: 'cancelled' })).statusCode, 200)
})

testOnEngines('concurrently made purchases are all on the list, once', async (t) => {
  const host = await purchaseHost(t)
  const reader = host.user('reader', 'purchase:read')
  const made = await Promise.all(Array.from({ length: 32 }, () => purchased(reader)))
  for (const query of ['?rpp=100', '?rpp=100&owner=*']) {
    const { data, total } = (await reader.get(`/purchase${query}`)).json()
    t.equal(total, 32)
    t.same(data.map((purchase: { id: string }) => purchase.id).sort(), made.map(({ id }) => id).sort())
  }
})

testOnEngines(
  'a purchase has an ETag, and If-Match changes only the version that the caller has seen',
  async (t) => {
    const host = await purchaseHost(t)
    const [ann, clerk] = [host.user('ann'), host.user('clerk', 'purchase:manage')]
    const made = await ann.post('/purchase', tea)
    const place = made.headers.location as string
    const shown = await ann.get(place)
    t.equal(shown.headers.etag, made.headers.etag)
    t.equal((await ann.get(place, { 'if-none-match': `"a", ${shown.headers.etag}` })).statusCode, 304)
    t.not((await clerk.get(place)).headers.etag, shown.headers.etag, 'who sees more gets another tag')
    const seen = { 'if-match': shown.headers.etag as string }
    const confirmed = await clerk.patch(place, { status: 'confirmed' }, seen)
    t.equal(confirmed.statusCode, 200, 'that is of the same version')
    t.equal((await ann.get(place, { 'if-none-match': seen['if-match'] })).statusCode, 200)
    for (const response of [
      await ann.patch(place, { status: 'cancelled' }, seen),
      await ann.delete(place, seen),
      await ann.post('/purchase', tea, { 'if-match': '*' }),
    ]) {
      t.match([response.statusCode, response.json().code], [412, 'precondition-failed'])
    }
    t.equal(
      (await ann.patch(place, { status: 'lost' }, seen)).statusCode,
      400,
      'what is wrong anyway is reported first',
    )
    t.equal((await ann.patch(`/purchase/${UNKNOWN}`, { status: 'cancelled' }, seen)).statusCode, 404)
    const present = { 'if-match': confirmed.headers.etag as string }
    t.equal((await ann.patch(place, { status: 'cancelled' }, present)).statusCode, 200)
    t.equal((await ann.delete(place, { 'if-match': '*' })).statusCode, 200)
  },
)

testOnEngines('a purchase sent twice with the same key is made once', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const key = { 'idempotency-key': '4f9c' }
  const twins = await Promise.all([1, 2, 3].map(() => ann.post('/purchase', tea, key)))
  t.equal(new Set(twins.map(({ body, headers }) => body + headers.location + headers.etag)).size, 1)
  const place = twins[0]?.headers.location as string
  await ann.patch(place, { status: 'cancelled' }, key)
  t.equal((await ann.patch(place, { status: 'cancelled' }, key)).statusCode, 200, 'not an illegal transition')
  t.equal((await ann.patch(place, { status: 'cancelled' })).statusCode, 409)
  t.equal((await ann.get('/purchase')).json().total, 1)
})

testOnEngines("a change of another's purchase is replayed to a caller who may still make it", async (t) => {
  const host = await purchaseHost(t)
  const { id } = await purchased(host.guest())
  const key = { 'idempotency-key': 'k' }
  const confirm = (scope?: string) =>
    host.user('manager', scope).patch(`/purchase/${id}`, { status: 'confirmed' }, key)
  const first = await confirm('purchase:manage')
  t.equal(first.statusCode, 200)
  for (const scope of [undefined, 'purchase:read']) {
    const refused = await confirm(scope)
    t.match(refused.json(), { status: 403, code: 'insufficient-scope', detail: /purchase:manage/ })
  }
  t.equal((await confirm('purchase:manage')).body, first.body)
})

testOnEngines("a claim transfers the guest's purchases to the user", async (t) => {
  const host = await purchaseHost(t)
  const [guest, ann] = [host.guest(), host.user('ann')]
  const own = await purchased(ann)
  const key = { 'idempotency-key': 'k' }
  const deleted = await purchased(guest)
  const first = (await guest.post('/purchase', tea, key)).json()
  const tag = (await guest.get(`/purchase/${first.id}`)).headers.etag as string
  await guest.delete(`/purchase/${deleted.id}`)
  t.equal((await ann.claim(guest)).statusCode, 200)
  const { data, total } = (await ann.get('/purchase')).json()
  t.same(
    data.map(({ id }: { id: string }) => id),
    [first.id, own.id],
  )
  t.equal(total, 2)
  t.match((await ann.get(`/purchase/${first.id}`)).json(), { items: first.items, version: 2 })
  const change = { status: 'cancelled' }
  t.equal((await ann.patch(`/purchase/${first.id}`, change, { 'if-match': tag })).statusCode, 412)
  t.equal((await ann.post('/purchase', tea, key)).json().id, first.id, 'and their keys')
  t.equal((await guest.get('/purchase')).statusCode, 401)
  t.equal((await host.user('reader', 'purchase:read').get('/purchase?owner=*')).json().total, 2)
})
