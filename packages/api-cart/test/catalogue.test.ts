import { fileURLToPath } from 'node:url'
import type { Statement, Transaction } from '@mortise/module-sdk'
import { createTestHost, type TestCaller, type TestHostOptions } from '@mortise/module-testkit'
import type { Test } from 'tap'
import plugin from '../src/index.ts'
import { cartHost, testOnEngines } from './cart-host.ts'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const shop = (t: Test, options: Omit<TestHostOptions, 'modules'> = {}) =>
  createTestHost(t, {
    ...options,
    modules: [{ directory: folder('..'), plugin }, { directory: folder('../../api-product') }],
  })

const euros = (amount: number) => ({ amount, currency: 'EUR' })
const dollars = (amount: number) => ({ amount, currency: 'USD' })
const image = { url: 'https://images.example/tea.jpg', alt: 'A tin of tea' }

/** Creates products, by their ids, with what they differ in. */
async function sell(manager: TestCaller, products: Readonly<Record<string, object>>): Promise<void> {
  for (const [id, product] of Object.entries(products)) {
    const created = await manager.post('/product', { id, name: id, price: euros(100), ...product })
    if (created.statusCode !== 201) throw new Error(created.body)
  }
}

testOnEngines('a cart shows what its products are and cost now', async (t) => {
  const host = await shop(t)
  const manager = host.user('root', 'product:manage')
  await sell(manager, {
    tea: { name: 'Green tea', price: euros(450), images: [image] },
    cup: { price: euros(1200) },
  })
  const ann = host.user('ann')
  const added = await ann.post('/cart/item', { product: 'tea', quantity: 3 })
  const line = { name: 'Green tea', image, unitPrice: euros(450), lineTotal: euros(1350), warnings: [] }
  t.match(added.json(), line)
  await ann.post('/cart/item', { product: 'cup', quantity: 1 })
  const cart = await ann.get('/cart')
  t.match(cart.json(), {
    total: euros(2550),
    items: [line, { name: 'cup', image: null, lineTotal: euros(1200) }],
  })
  t.strictSame((await ann.get('/cart/item')).json().data, cart.json().items)
  t.strictSame((await ann.get(`/cart/item/${added.json().id}`)).json(), cart.json().items[0])
  await manager.patch('/product/tea', { price: euros(500), name: 'Tea' }, { 'if-match': '*' })
  const after = await ann.get('/cart')
  t.match(after.json(), {
    total: euros(2700),
    version: cart.json().version,
    items: [{ name: 'Tea', unitPrice: euros(500) }, {}],
  })
  t.not(after.headers.etag, cart.headers.etag)
  const changed = await ann.patch(`/cart/item/${added.json().id}`, { quantity: 2 })
  t.match(changed.json(), { lineTotal: euros(1000) })
})

testOnEngines('a product that cannot be sold is not added, and stays with a warning', async (t) => {
  const host = await shop(t)
  const manager = host.user('root', 'product:manage')
  await sell(manager, { tea: {}, cup: { stock: 5 }, pot: {}, old: { active: false } })
  const ann = host.user('ann')
  for (const product of ['nothing', 'old']) {
    const refused = await ann.post('/cart/item', { product, quantity: 1 })
    t.match(refused.json(), { status: 422, code: 'unknown-product', products: [product] })
  }
  t.match((await ann.get('/cart')).json(), { id: null, total: null })
  for (const product of ['tea', 'cup', 'pot']) await ann.post('/cart/item', { product, quantity: 4 })
  await manager.patch('/product/tea', { active: false }, { 'if-match': '*' })
  await manager.patch('/product/cup', { stock: 3 }, { 'if-match': '*' })
  await manager.delete('/product/pot')
  const cart = (await ann.get('/cart')).json()
  t.strictSame(
    cart.items.map(({ warnings }: { warnings: object[] }) => warnings),
    [[{ code: 'inactive-product' }], [{ code: 'out-of-stock', available: 3 }], [{ code: 'unknown-product' }]],
  )
  t.match(cart.items[2], { name: null, image: null, unitPrice: null, lineTotal: null })
  t.equal(cart.total, null, 'a line has no price')
  const tea = `/cart/item/${cart.items[0].id}`
  t.match((await ann.patch(tea, { quantity: 5 })).json(), { status: 422, code: 'unknown-product' })
  t.match(
    (await ann.patch(tea, { quantity: 3, note: 'the last' })).json(),
    { quantity: 3 },
    'less is possible',
  )
  t.equal((await ann.delete(`/cart/item/${cart.items[2].id}`)).statusCode, 200)
  t.match((await ann.get('/cart')).json(), { total: euros(700) })
})

testOnEngines('the currency of a cart is one that all products have', async (t) => {
  const host = await shop(t)
  await sell(host.user('root', 'product:manage'), {
    tea: { price: euros(100), otherPrices: [dollars(120)] },
    cup: { price: dollars(500) },
    pot: { price: { amount: 900, currency: 'JPY' } },
  })
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 2 })
  t.match((await ann.get('/cart')).json(), { total: euros(200) })
  await ann.post('/cart/item', { product: 'cup', quantity: 1 })
  t.match((await ann.get('/cart')).json(), { total: dollars(740), items: [{ unitPrice: dollars(120) }, {}] })
  await ann.post('/cart/item', { product: 'pot', quantity: 1 })
  t.match((await ann.get('/cart')).json(), {
    total: null,
    items: [{ unitPrice: euros(100) }, {}, { unitPrice: { currency: 'JPY' } }],
  })
})

testOnEngines('there is no total that is not exact', async (t) => {
  const host = await shop(t)
  const dearest = { price: euros(900_000_000_000) }
  await sell(host.user('root', 'product:manage'), { tea: dearest, cup: dearest })
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 9999 })
  t.match((await ann.get('/cart')).json(), { total: euros(900_000_000_000 * 9999) })
  await ann.post('/cart/item', { product: 'cup', quantity: 9999 })
  t.match((await ann.get('/cart')).json(), {
    total: null,
    items: [{ lineTotal: euros(900_000_000_000 * 9999) }, {}],
  })
})

testOnEngines('a cart of 200 lines costs one statement of the catalogue', async (t) => {
  const host = await shop(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  const ann = host.user('ann')
  for (let index = 0; index < 200; index++) {
    await sell(manager, { [`p-${index}`]: {} })
    await ann.post('/cart/item', { product: `p-${index}`, quantity: 1 })
  }
  const { database } = host
  const { snapshot } = database
  let statements = 0
  database.snapshot = (steps) =>
    snapshot.call(database, function* (): Transaction<unknown> {
      const running = steps()
      let next = running.next()
      while (!next.done) {
        if ('query' in (next.value as Statement)) statements += 1
        next = running.next(yield next.value)
      }
      return next.value
    }) as never
  t.match((await ann.get('/cart')).json(), { itemCount: 200, total: euros(20_000) })
  t.equal(statements, 2, 'the cart, and the catalogue')
})

testOnEngines('without a catalogue a cart has products of any name', async (t) => {
  const ann = (await cartHost(t)).user('ann')
  const added = (await ann.post('/cart/item', { product: 'nothing', quantity: 1 })).json()
  t.match(added, { name: null, unitPrice: null, lineTotal: null })
  t.notOk('image' in added || 'warnings' in added)
  t.equal((await ann.get('/cart')).json().total, null)
})
