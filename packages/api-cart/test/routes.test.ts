import { run, sql } from '@mortise/module-sdk'
import type { TestCaller } from '@mortise/module-testkit'
import { cartHost, testOnEngines } from './cart-host.ts'

const UNKNOWN = 'item_01kahr3v8ze5x9g2w0m4c7t6ys'

async function added(caller: TestCaller, product: string, quantity = 1) {
  const response = await caller.post('/cart/item', { product, quantity })
  return response.json()
}

testOnEngines('GET /cart returns an empty cart to a caller without one', async (t) => {
  const host = await cartHost(t)
  for (const caller of [host.user('ann'), host.guest()]) {
    const response = await caller.get('/cart')
    t.equal(response.statusCode, 200)
    t.match(response.json(), { id: null, items: [], itemCount: 0, total: null, version: 0, expiresAt: null })
  }
})

testOnEngines(
  'POST /cart/item returns 201 and the location of a new item, 200 for an item that exists',
  async (t) => {
    const host = await cartHost(t)
    const ann = host.user('ann')
    const created = await ann.post('/cart/item', { product: 'tea', quantity: 2 })
    t.equal(created.statusCode, 201)
    t.match(created.json(), { product: 'tea', quantity: 2, name: null, unitPrice: null, version: 1 })
    t.equal(created.headers.location, `/cart/item/${created.json().id}`)
    t.same((await ann.get(created.headers.location as string)).json(), created.json())

    const again = await ann.post('/cart/item', { product: 'tea', quantity: 3 })
    t.equal(again.statusCode, 200)
    t.equal(again.headers.location, undefined)
    t.match(again.json(), { id: created.json().id, quantity: 5, version: 2 })
  },
)

testOnEngines('the location of a new item is below the base path', async (t) => {
  const host = await cartHost(t, { config: { basePath: '/api' } })
  const created = await host.user('ann').post('/cart/item', { product: 'tea', quantity: 2 })
  t.equal(created.headers.location, `/api/cart/item/${created.json().id}`)
})

testOnEngines('GET /cart and GET /cart/item show the items in the order added', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const items = [await added(ann, 'tea'), await added(ann, 'milk', 2), await added(ann, 'ale', 3)]
  const cart = (await ann.get('/cart')).json()
  t.match(cart, { items, itemCount: 3, totalQuantity: 6, total: null, version: 3 })
  t.match(cart.id, /^cart_/)
  t.same((await ann.get('/cart/item')).json(), { data: items })
})

testOnEngines('a product is compared as it was sent, whatever its Unicode normal form', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const [composed, decomposed] = ['NFC', 'NFD'].map((form) => 'café'.normalize(form)) as [string, string]
  for (const product of [composed, decomposed, composed]) await added(ann, product)
  const { items } = (await ann.get('/cart')).json()
  t.match(items, [
    { product: composed, quantity: 2 },
    { product: decomposed, quantity: 1 },
  ])
})

testOnEngines('PATCH /cart/item/:id sets the quantity', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const { id } = await added(ann, 'tea', 2)
  const changed = await ann.patch(`/cart/item/${id}`, { quantity: 9 })
  t.equal(changed.statusCode, 200)
  t.match(changed.json(), { id, product: 'tea', quantity: 9, version: 2 })
  t.same((await ann.get(`/cart/item/${id}`)).json(), changed.json())
})

testOnEngines('DELETE /cart/item/:id removes an item once', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const { id } = await added(ann, 'tea')
  const removed = await ann.delete(`/cart/item/${id}`)
  t.equal(removed.statusCode, 200)
  t.same(removed.json(), { id, deleted: true })
  t.equal((await ann.delete(`/cart/item/${id}`)).statusCode, 404)
  t.match((await ann.get('/cart')).json(), { items: [], version: 2 })
})

testOnEngines('DELETE /cart empties the cart, also repeatedly', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  await added(ann, 'tea')
  const { id } = (await ann.get('/cart')).json()
  for (const caller of [ann, ann, host.user('who has no cart'), host.guest()]) {
    const emptied = await caller.delete('/cart')
    t.equal(emptied.statusCode, 200)
    t.same(emptied.json(), { deleted: true })
  }
  t.match((await ann.get('/cart')).json(), { id, items: [], version: 2 })
})

testOnEngines('a guest keeps a cart', async (t) => {
  const host = await cartHost(t)
  const guest = host.guest()
  const item = await added(guest, 'tea')
  t.same((await guest.get('/cart')).json().items, [item])
  t.same((await host.guest().get('/cart')).json().items, [])
})

const rejected: [string, unknown, string[]][] = [
  ['no body', undefined, ['']],
  ['an array', [], ['']],
  ['no product', { quantity: 1 }, ['/product']],
  ['no quantity', { product: 'tea' }, ['/quantity']],
  ['nothing of either', {}, ['/product', '/quantity']],
  ['a field that is none', { product: 'tea', quantity: 1, price: 1 }, ['/price']],
  ['a price', { product: 'tea', quantity: 1, unitPrice: { amount: 1, currency: 'EUR' } }, ['/unitPrice']],
  ['a product that is a number', { product: 7, quantity: 1 }, ['/product']],
  ['a product that is null', { product: null, quantity: 1 }, ['/product']],
  ['an empty product', { product: '', quantity: 1 }, ['/product']],
  ['a product of 129 characters', { product: 'é'.repeat(129), quantity: 1 }, ['/product']],
  ['a product of blanks', { product: ' \u00a0\u2003\u3000', quantity: 1 }, ['/product']],
  ['a product with a line break', { product: 'tea\n', quantity: 1 }, ['/product']],
  ['a product with a NUL', { product: 'tea\u0000', quantity: 1 }, ['/product']],
  ['a product with a C1 control character', { product: 'a\u0085b', quantity: 1 }, ['/product']],
  ['a quantity of 0', { product: 'tea', quantity: 0 }, ['/quantity']],
  ['a negative quantity', { product: 'tea', quantity: -1 }, ['/quantity']],
  ['a quantity of 10000', { product: 'tea', quantity: 10_000 }, ['/quantity']],
  ['a fraction', { product: 'tea', quantity: 1.5 }, ['/quantity']],
  ['a quantity that is text', { product: 'tea', quantity: '2' }, ['/quantity']],
  ['a quantity that is null', { product: 'tea', quantity: null }, ['/quantity']],
  ['a quantity that is a list', { product: 'tea', quantity: [2] }, ['/quantity']],
  ['a quantity beyond every integer', '{"product":"tea","quantity":1e999}', ['/quantity']],
]

testOnEngines(
  'POST /cart/item rejects an invalid body, points at the error, and changes nothing',
  async (t) => {
    const host = await cartHost(t)
    const ann = host.user('ann')
    for (const [what, body, pointers] of rejected) {
      const response = await ann.post('/cart/item', body as object, { 'content-type': 'application/json' })
      t.equal(response.statusCode, 400, what)
      t.equal(response.headers['content-type'], 'application/problem+json')
      const { errors } = response.json()
      t.same(
        errors.map((error: { pointer: string }) => error.pointer),
        pointers,
        `${what} is pointed at`,
      )
    }
    t.match((await ann.get('/cart')).json(), { id: null, version: 0 })
  },
)

testOnEngines('POST /cart/item accepts products of all sorts', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const products = [
    'x',
    'x'.repeat(128),
    '𝒳'.repeat(128),
    ' tea ',
    "'; DROP TABLE cart; --",
    '../..',
    '0',
    '☕',
  ]
  for (const product of products) {
    const response = await ann.post('/cart/item', { product, quantity: 1 })
    t.equal(response.statusCode, 201, product)
    t.equal(response.json().product, product)
  }
  t.equal((await ann.get('/cart')).json().itemCount, products.length)
})

testOnEngines('PATCH /cart/item/:id rejects an invalid body and points at the error', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const item = await added(ann, 'tea', 2)
  for (const [body, pointer] of [
    [{}, ''],
    [{ quantity: 0 }, '/quantity'],
    [{ quantity: -5 }, '/quantity'],
    [{ quantity: 10_000 }, '/quantity'],
    [{ quantity: '3' }, '/quantity'],
    [{ note: '' }, '/note'],
    [{ note: 'x'.repeat(201) }, '/note'],
    [{ quantity: 3, product: 'milk' }, '/product'],
  ] as const) {
    const response = await ann.patch(`/cart/item/${item.id}`, body)
    t.equal(response.statusCode, 400)
    t.same(response.json().errors[0].pointer, pointer)
  }
  t.same((await ann.get(`/cart/item/${item.id}`)).json(), item)
})

testOnEngines('an item has a note: set, kept, changed, removed', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const add = async (item: object) =>
    (await ann.post('/cart/item', { product: 'tea', quantity: 1, ...item })).json()
  const { id, note } = await add({ note: 'loose' })
  t.equal(note, 'loose')
  t.equal((await add({})).note, 'loose', 'what is added without a note keeps it')
  t.equal((await add({ note: 'in bags' })).note, 'in bags')
  const patch = async (body: object) => (await ann.patch(`/cart/item/${id}`, body)).json()
  t.match(await patch({ quantity: 5 }), { quantity: 5, note: 'in bags' })
  t.match(await patch({ note: 'loose' }), { quantity: 5, note: 'loose' })
  const removed = await patch({ note: null })
  t.match(removed, { quantity: 5, note: null })
  t.equal((await patch({ note: null })).version, removed.version, 'no change')
  t.match((await host.events()).at(-1)?.data, { id, quantity: 5, note: null })
})

testOnEngines('no route of the cart takes query parameters', async (t) => {
  const host = await cartHost(t)
  for (const path of ['/cart?page=1', '/cart/item?x=', `/cart/item/${UNKNOWN}?owner=*`]) {
    const response = await host.user('ann').get(path)
    t.equal(response.statusCode, 400, path)
    t.ok(response.json().errors[0].parameter)
  }
})

testOnEngines('too many of a product, and too many products, are 409', async (t) => {
  const host = await cartHost(t, { rehearse: false })
  const ann = host.user('ann')
  await added(ann, 'tea', 9999)
  const over = await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  t.equal(over.statusCode, 409)
  t.match(over.json(), {
    type: 'urn:problem-type:api-cart:quantity-limit',
    code: 'quantity-limit',
    status: 409,
  })
  for (let first = 0; first < 250; first += 50)
    await Promise.all(Array.from({ length: 50 }, (_, index) => added(ann, `product ${first + index}`)))
  const full = await ann.post('/cart/item', { product: 'one more', quantity: 1 })
  t.match(full.json(), { type: 'urn:problem-type:api-cart:cart-full', status: 409 })
  t.equal((await ann.get('/cart')).json().itemCount, 200)
})

testOnEngines('32 concurrent additions of one product make one line with the exact sum', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const responses = await Promise.all(
    Array.from({ length: 32 }, (_, index) => ann.post('/cart/item', { product: 'tea', quantity: index + 1 })),
  )
  const created = responses.filter((response) => response.statusCode === 201)
  t.equal(created.length, 1)
  t.equal(responses.filter((response) => response.statusCode === 200).length, 31)
  const { items, version } = (await ann.get('/cart')).json()
  t.match(items, [{ product: 'tea', quantity: (32 * 33) / 2, version: 32 }])
  t.equal(items.length, 1)
  t.equal(version, 32)
})

testOnEngines("another caller's item is 404 for every method", async (t) => {
  const host = await cartHost(t)
  const owner = host.user('owner')
  const item = await added(owner, 'tea', 2)
  const before = (await owner.get('/cart')).body
  const removed = await added(owner, 'milk')
  await owner.delete(`/cart/item/${removed.id}`)

  const strangers = [
    host.user('stranger'),
    host.user('reader', 'purchase:read'),
    host.user('manager', 'purchase:manage'),
    host.user('admin', 'admin'),
    host.guest(),
  ]
  for (const stranger of strangers) {
    await added(stranger, 'coffee')
    const problems = new Set<string>()
    for (const id of [item.id, removed.id, UNKNOWN, 'x', '%ZZ', `${item.id}%00`, 'x'.repeat(300)]) {
      for (const response of [
        await stranger.get(`/cart/item/${id}`),
        await stranger.patch(`/cart/item/${id}`, { quantity: 99 }),
        await stranger.delete(`/cart/item/${id}`),
      ]) {
        t.equal(response.statusCode, 404)
        const { requestId } = response.json()
        problems.add(response.body.replace(requestId, ''))
      }
    }
    t.equal(problems.size, 1, 'and nothing distinguishes these')
    await stranger.delete('/cart')
    t.same((await stranger.get('/cart/item')).json(), { data: [] })
  }
  t.same(JSON.parse(before).items, (await owner.get('/cart')).json().items, "the owner's cart is as it was")
})

testOnEngines('invalid credentials change nothing', async (t) => {
  const host = await cartHost(t)
  for (const headers of [{ authorization: 'Bearer nonsense' }, { 'guest-token': 'nonsense' }]) {
    const response = await host.guest().post('/cart/item', { product: 'tea', quantity: 1 }, headers)
    t.equal(response.statusCode, 401)
  }
})

testOnEngines('the ETags of the cart and its items change with them', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const tag = async (path: string) => (await ann.get(path)).headers.etag as string
  const tags = [await tag('/cart')]
  const item = await added(ann, 'tea')
  const place = `/cart/item/${item.id}`
  tags.push(await tag('/cart'))
  const itemTag = await tag(place)
  await added(ann, 'milk')
  tags.push(await tag('/cart'))
  t.equal(await tag(place), itemTag, 'of another line an item knows nothing')
  t.equal((await ann.get(place, { 'if-none-match': itemTag })).statusCode, 304)
  t.equal((await ann.get('/cart', { 'if-none-match': tags.join() })).statusCode, 304)
  const changed = await ann.patch(place, { quantity: 7 })
  t.equal(changed.headers.etag, await tag(place))
  tags.push(await tag('/cart'))
  await ann.delete('/cart')
  tags.push(await tag('/cart'))
  t.equal(new Set(tags).size, 5)
  t.equal((await ann.get('/cart', { 'if-none-match': tags.slice(0, 4).join() })).statusCode, 200)
})

testOnEngines('If-Match changes only the version that the caller has seen', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const ifMatch = async (path: string) => ({ 'if-match': (await ann.get(path)).headers.etag as string })
  const empty = await ifMatch('/cart')
  const tea = { product: 'tea', quantity: 1 }
  const made = await ann.post('/cart/item', tea, empty)
  t.equal(made.statusCode, 201, 'a cart that is not there yet has a tag too')
  const place = `/cart/item/${made.json().id}`
  const [cart, item] = [await ifMatch('/cart'), await ifMatch(place)]
  await ann.patch(place, { quantity: 2 })
  const before = (await ann.get('/cart')).json()
  const stale = [
    await ann.post('/cart/item', tea, empty),
    await ann.post('/cart/item', tea, cart),
    await ann.post('/cart/item', tea, await ifMatch(place)),
    await ann.patch(place, { quantity: 3 }, item),
    await ann.delete(place, item),
    await ann.delete('/cart', cart),
  ]
  for (const response of stale) {
    t.match([response.statusCode, response.json().code], [412, 'precondition-failed'])
  }
  t.same((await ann.get('/cart')).json(), before)
  t.equal((await ann.patch(`/cart/item/${UNKNOWN}`, { quantity: 3 }, item)).statusCode, 404)
  t.equal((await ann.post('/cart/item', tea, await ifMatch('/cart'))).statusCode, 200)
  t.equal((await ann.patch(place, { quantity: 3 }, await ifMatch(place))).statusCode, 200)
  t.equal((await ann.delete(place, await ifMatch(place))).statusCode, 200)
  t.equal((await ann.delete('/cart', await ifMatch('/cart'))).statusCode, 200)
})

testOnEngines('a cart after an expired one has another ETag', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  await added(ann, 'tea')
  const expired = { 'if-match': (await ann.get('/cart')).headers.etag as string }
  await host.database.transaction(() => run(sql`UPDATE cart SET expires_at = 1`))
  const { version } = (await added(ann, 'tea')) as { version: number }
  t.equal(version, 1)
  t.equal((await ann.delete('/cart', expired)).statusCode, 412)
})

testOnEngines('an item added twice with the same key is added once', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const key = { 'idempotency-key': '4f9c' }
  const twins = await Promise.all(
    [1, 2, 3].map(() => ann.post('/cart/item', { product: 'tea', quantity: 2 }, key)),
  )
  t.equal(new Set(twins.map(({ body }) => body)).size, 1)
  const place = `/cart/item/${twins[0]?.json().id}`
  await ann.patch(place, { quantity: 5 }, key)
  await ann.patch(place, { quantity: 9 })
  t.equal((await ann.patch(place, { quantity: 5 }, key)).json().quantity, 5, 'the response of that time')
  t.equal((await ann.get('/cart')).json().totalQuantity, 9)
})
