import type { TestCaller } from '@mortise/module-testkit'
import { testOnEngines } from './purchase-host.ts'
import { buy, sell, shop, stockOf } from './shop.ts'

const cancel = (manager: TestCaller, purchase: { id: string }) =>
  manager.patch(`/purchase/${purchase.id}`, { status: 'cancelled' })

/** Another product gets the id. */
async function replace(manager: TestCaller, id: string, stock: number): Promise<void> {
  await manager.delete(`/product/${id}`)
  await sell(manager, { [id]: { stock, name: 'Other' } })
}

testOnEngines(
  'stock goes back to the product that it came from, and not to another with its id',
  async (t) => {
    const host = await shop(t, { rehearse: false })
    const manager = host.user('root', 'product:manage purchase:manage')
    const ann = host.user('ann')
    await sell(manager, { lamp: { stock: 5 }, tea: { stock: 5 } })
    const old = (await buy(ann, { lamp: 2, tea: 1 })).json()
    const { identity } = (await ann.get('/product/lamp')).json()
    t.match(identity, /^product_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    t.equal(old.items[0].identity, identity)
    await replace(manager, 'lamp', 10)
    t.not((await ann.get('/product/lamp')).json().identity, identity)
    t.equal((await cancel(ann, old)).json().status, 'cancelled')
    t.equal(await stockOf(ann, 'lamp'), 10)
    t.equal(await stockOf(ann, 'tea'), 5)
    const later = (await buy(ann, { lamp: 3 })).json()
    t.equal((await cancel(ann, later)).json().status, 'cancelled')
    t.equal(await stockOf(ann, 'lamp'), 10)
  },
)

testOnEngines('whatever races, a new product keeps its stock', async (t) => {
  const host = await shop(t, { rehearse: false })
  const manager = host.user('root', 'product:manage purchase:manage')
  for (let round = 0; round < 8; round += 1) {
    await sell(manager, { [`lamp-${round}`]: { stock: 9 } })
    const bought = await Promise.all(
      [1, 2, 3].map((quantity) => buy(manager, { [`lamp-${round}`]: quantity })),
    )
    await Promise.all([
      ...bought.map((one) => cancel(manager, one.json())),
      replace(manager, `lamp-${round}`, 20),
    ])
    t.equal(await stockOf(manager, `lamp-${round}`), 20)
  }
})

testOnEngines('a line of a cart does not become another product', async (t) => {
  const host = await shop(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  const ann = host.user('ann')
  await sell(manager, { lamp: { stock: 5 }, tea: { stock: 5 } })
  const { id } = (await ann.post('/cart/item', { product: 'lamp', quantity: 2 })).json()
  await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  await replace(manager, 'lamp', 10)
  const unknown = { name: null, unitPrice: null, lineTotal: null, warnings: [{ code: 'unknown-product' }] }
  const { items, total } = (await ann.get('/cart')).json()
  t.match(items, [{ id, product: 'lamp', quantity: 2, ...unknown }, { name: 'tea' }])
  t.equal(total, null)
  t.match((await ann.get(`/cart/item/${id}`)).json(), unknown)
  const more = await ann.patch(`/cart/item/${id}`, { quantity: 3 })
  t.match(more.json(), { status: 422, code: 'unknown-product', products: ['lamp'] })
  t.match((await ann.patch(`/cart/item/${id}`, { quantity: 1 })).json(), { quantity: 1, ...unknown })
  const taken = await buy(ann, { lamp: 1 }, { takeFromCart: true })
  t.match(taken.json(), { status: 422, code: 'unknown-product', products: ['lamp'] })
  t.equal(await stockOf(ann, 'lamp'), 10)
  const again = await ann.post('/cart/item', { product: 'lamp', quantity: 4 })
  t.equal(again.statusCode, 201, 'a new line')
  t.match(again.json(), { quantity: 4, name: 'Other', version: 1 })
  t.not(again.json().id, id)
  t.equal((await ann.get(`/cart/item/${id}`)).statusCode, 404)
  const events = (await host.events()).filter(({ type }) => type.startsWith('cart.item-'))
  t.strictSame(
    events.slice(-2).map(({ type, data }) => [type, (data as { id: string }).id]),
    [
      ['cart.item-removed', id],
      ['cart.item-added', again.json().id],
    ],
  )
  t.equal((await buy(ann, { lamp: 4 }, { takeFromCart: true })).statusCode, 201)
  t.equal(await stockOf(ann, 'lamp'), 6)
})

testOnEngines('all lines set at once mean the products of now', async (t) => {
  const host = await shop(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  const ann = host.user('ann')
  await sell(manager, { lamp: { stock: 5 } })
  const { id } = (await ann.post('/cart/item', { product: 'lamp', quantity: 2 })).json()
  await replace(manager, 'lamp', 10)
  const cart = (await ann.request('PUT', '/cart', { items: [{ product: 'lamp', quantity: 2 }] })).json()
  t.match(cart, { itemCount: 1, items: [{ name: 'Other', quantity: 2, version: 1 }] })
  t.not(cart.items[0].id, id)
  t.strictSame((await ann.get('/cart')).json(), cart)
})

testOnEngines('what a cart has reserved of a deleted product is no stock of another', async (t) => {
  const host = await shop(t, {
    rehearse: false,
    config: { modules: { 'api-cart': { reservationMinutes: 10 } } },
  })
  const manager = host.user('root', 'product:manage')
  const ann = host.user('ann')
  await sell(manager, { lamp: { stock: 5 } })
  const line = (await ann.post('/cart/item', { product: 'lamp', quantity: 2 })).json()
  t.equal((await ann.post('/cart/reservation')).statusCode, 200)
  await replace(manager, 'lamp', 10)
  t.match((await ann.post('/cart/reservation')).json(), { status: 422, code: 'unknown-product' })
  t.equal((await buy(ann, { lamp: 1 })).statusCode, 201)
  t.equal(await stockOf(ann, 'lamp'), 9, 'taken, and not from the reservation')
  await ann.delete(`/cart/item/${line.id}`)
  t.equal(await stockOf(ann, 'lamp'), 9, 'nothing is given back')
})

testOnEngines('two carts become one, and the newer of two products with one id stays', async (t) => {
  const host = await shop(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  await sell(manager, { lamp: { stock: 50 }, tea: { stock: 50 } })
  const [guest, user] = [host.guest(), host.user('ann')]
  await user.post('/cart/item', { product: 'lamp', quantity: 9 })
  await guest.post('/cart/item', { product: 'tea', quantity: 9 })
  await replace(manager, 'lamp', 10)
  await replace(manager, 'tea', 10)
  await guest.post('/cart/item', { product: 'lamp', quantity: 1 })
  await user.post('/cart/item', { product: 'tea', quantity: 1 })
  await user.claim(guest)
  t.match((await user.get('/cart')).json(), {
    items: [
      { product: 'lamp', quantity: 1, name: 'Other' },
      { product: 'tea', quantity: 1, name: 'Other' },
    ],
  })
})
