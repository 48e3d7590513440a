import { create, euros, productHost, testOnEngines } from './product-host.ts'

const beans = {
  id: 'beans/1 kg',
  name: 'Espresso beans',
  description: 'Dark.\nFrom Brazil.',
  images: [{ url: 'https://images.example/beans.jpg', alt: 'A bag of beans' }],
  attributes: { roast: 'dark', size: '1kg' },
  group: 'beans',
  price: euros(1999),
  otherPrices: [{ amount: 3400, currency: 'JPY' }],
  stock: 12,
  active: true,
}

testOnEngines('a manager creates a product, and everybody sees it', async (t) => {
  const host = await productHost(t)
  const created = await host.user('root', 'product:manage').post('/product', beans)
  t.equal(created.statusCode, 201)
  t.equal(created.headers.location, '/product/beans%2F1%20kg')
  t.match(created.json(), { ...beans, version: 1 })
  const got = await host.guest().get(created.headers.location as string)
  t.strictSame(got.json(), created.json())
  t.equal(got.headers.etag, created.headers.etag)
  t.strictSame((await host.guest().get('/product')).json().data, [created.json()])
})

testOnEngines('a product needs an id, a name and a price', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  const plain = { id: 'tea', name: 'Tea', price: euros(0) }
  for (const missing of Object.keys(plain)) {
    t.equal((await manager.post('/product', { ...plain, [missing]: undefined })).statusCode, 400, missing)
  }
  const created = await manager.post('/product', plain)
  const defaults = {
    description: null,
    images: [],
    attributes: {},
    group: null,
    otherPrices: [],
    stock: null,
    active: true,
  }
  t.match(created.json(), { ...plain, ...defaults })
})

testOnEngines('an id that no path can name is refused', async (t) => {
  const manager = (await productHost(t)).user('root', 'product:manage')
  for (const id of ['.', '..']) {
    const refused = await manager.post('/product', { ...beans, id })
    t.match(refused.json(), { status: 400, errors: [{ pointer: '/id', detail: 'must not be "." or ".."' }] })
  }
  t.equal((await manager.post('/product', { ...beans, id: '...' })).statusCode, 201)
})

testOnEngines('only a manager writes', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, beans)
  const path = '/product/beans%2F1%20kg'
  for (const [caller, status] of [
    [host.user('ann'), 403],
    [host.guest(), 401],
  ] as const) {
    t.equal((await caller.post('/product', { ...beans, id: 'tea' })).statusCode, status)
    t.equal((await caller.patch(path, { name: 'x' }, { 'if-match': '*' })).statusCode, status)
    t.equal((await caller.delete(path)).statusCode, status)
  }
  t.match((await manager.get(path)).json(), { ...beans, version: 1 })
})

testOnEngines('an id belongs to one product', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, beans)
  t.match((await manager.post('/product', { ...beans, name: 'Other' })).json(), {
    status: 409,
    code: 'product-exists',
  })
  t.match((await manager.get('/product')).json(), { total: 1, data: [{ name: beans.name }] })
})

testOnEngines('a change needs If-Match, and a stale one changes nothing', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, { ...beans, id: 'beans' })
  const { etag } = (await manager.get('/product/beans')).headers as { etag: string }
  t.match((await manager.patch('/product/beans', { stock: 1 })).json(), {
    status: 428,
    code: 'if-match-required',
  })
  const changed = await manager.patch('/product/beans', { stock: 5, name: 'Beans' }, { 'if-match': etag })
  t.match(changed.json(), { ...beans, id: 'beans', stock: 5, name: 'Beans', version: 2 })
  t.equal((await manager.patch('/product/beans', { stock: 9 }, { 'if-match': etag })).statusCode, 412)
  t.strictSame((await host.guest().get('/product/beans')).json(), changed.json())
  const same = await manager.patch('/product/beans', { stock: 5 }, { 'if-match': '*' })
  t.strictSame(same.json(), changed.json(), 'the same values are no change')
  t.equal((await manager.patch('/product/tea', { stock: 5 }, { 'if-match': '*' })).statusCode, 404)
  const emptied = {
    description: null,
    group: null,
    stock: null,
    attributes: {},
    images: [],
    otherPrices: [],
    active: false,
  }
  t.match((await manager.patch('/product/beans', emptied, { 'if-match': '*' })).json(), {
    ...emptied,
    version: 3,
  })
})

testOnEngines('a deleted product is gone, and its id is free for another', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, { id: 'tea', name: 'Tea', attributes: { leaf: 'green' } })
  const { etag } = (await manager.get('/product/tea')).headers as { etag: string }
  t.strictSame((await manager.delete('/product/tea')).json(), { id: 'tea', deleted: true })
  for (const gone of [await manager.get('/product/tea'), await manager.delete('/product/tea')])
    t.match(gone.json(), { status: 404, code: 'product-not-found' })
  t.equal((await manager.get('/product?q=tea')).json().total, 0)
  await create(manager, { id: 'tea', name: 'Other tea', stock: 1 })
  t.match((await manager.get('/product/tea')).json(), {
    name: 'Other tea',
    attributes: {},
    stock: 1,
    version: 3,
  })
  t.equal(
    (await manager.patch('/product/tea', { stock: 9 }, { 'if-match': etag })).statusCode,
    412,
    'an old tag',
  )
  t.equal((await manager.get('/product?attributes=leaf:green')).json().total, 0)
  t.equal((await manager.get('/product?q=other')).json().total, 1)
})

testOnEngines('a currency is one of ISO 4217, and each has one price', async (t) => {
  const manager = (await productHost(t)).user('root', 'product:manage')
  const refused = await manager.post('/product', { ...beans, price: { amount: 1, currency: 'XXX' } })
  t.match(refused.json(), { status: 400, errors: [{ pointer: '/price/currency' }] })
  const twice = await manager.post('/product', {
    ...beans,
    otherPrices: [{ amount: 1, currency: 'USD' }, euros(1)],
  })
  t.match(twice.json(), { status: 400, errors: [{ pointer: '/otherPrices/1/currency' }] })
  for (const amount of [-1, 0.5, '1', 900_000_000_001])
    t.equal(
      (await manager.post('/product', { ...beans, price: { amount, currency: 'EUR' } })).statusCode,
      400,
    )
})

testOnEngines('each change emits an event, with the product', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, { id: 'tea', name: 'Tea' })
  const created = (await manager.get('/product/tea')).json()
  const changed = (await manager.patch('/product/tea', { stock: 3 }, { 'if-match': '*' })).json()
  await manager.patch('/product/tea', { stock: 3 }, { 'if-match': '*' })
  await manager.delete('/product/tea')
  const events = await host.events()
  t.ok(
    events.every(
      ({ type, subject, owner }) => type === 'product.changed' && subject === 'tea' && owner === null,
    ),
  )
  t.strictSame(
    events.map(({ data }) => data),
    [
      { change: 'created', product: created },
      { change: 'changed', product: changed },
      { change: 'deleted', product: changed },
    ],
  )
})

testOnEngines('of many who create one id, one succeeds', async (t) => {
  const manager = (await productHost(t, { rehearse: false })).user('root', 'product:manage')
  const statuses = await Promise.all(
    Array.from(
      { length: 8 },
      async (_, index) => (await manager.post('/product', { ...beans, stock: index })).statusCode,
    ),
  )
  t.strictSame(statuses.sort(), [201, 409, 409, 409, 409, 409, 409, 409])
})
