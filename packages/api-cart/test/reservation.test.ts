import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { run, sql } from '@mortise/module-sdk'
import { createTestHost, type TestCaller, type TestHostOptions } from '@mortise/module-testkit'
import type { Test } from 'tap'
import plugin from '../src/index.ts'
import { cartHost, testOnEngines } from './cart-host.ts'

const MINUTE = 60_000
const folder = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

/** A shop whose carts reserve stock for ten minutes, with products by their ids. */
async function shop(t: Test, stocks: Readonly<Record<string, number | null>>, rehearse = true) {
  const modules: TestHostOptions['modules'] = [
    { directory: folder('api-cart'), plugin },
    { directory: folder('api-product') },
    { directory: folder('api-purchase') },
  ]
  const config = {
    modules: { 'api-cart': { reservationMinutes: 10 } },
    rateLimit: { max: 0, maxPerAddress: 100_000 },
  }
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const host = await createTestHost(t, { modules, config, rehearse })
  const { database } = host
  const manager = host.user('root', 'product:manage')
  for (const [id, stock] of Object.entries(stocks)) {
    const price = { amount: 100, currency: 'EUR' }
    const created = await manager.post('/product', { id, name: id, price, stock })
    if (created.statusCode !== 201) throw new Error(created.body)
  }
  return {
    host,
    manager,
    stockOf: async (id: string) => (await manager.get(`/product/${id}`)).json().stock,
    /** Lets the reservation of a cart expire, by default of all, and minutes pass. */
    async expire(cart?: string) {
      const chosen = cart === undefined ? sql`` : sql`WHERE cart_id = ${cart}`
      await database.transaction(() => run(sql`UPDATE cart_reservation SET expires_at = 0 ${chosen}`))
      const expired = sql`SELECT product FROM cart_reservation WHERE expires_at = 0`
      while ((await database.many(expired)).length > 0) {
        mock.timers.tick(MINUTE)
        await setImmediate()
      }
    },
  }
}

/** Fills the cart and reserves it. */
async function reserve(caller: TestCaller, lines: Readonly<Record<string, number>>) {
  for (const [product, quantity] of Object.entries(lines)) {
    const added = await caller.post('/cart/item', { product, quantity })
    if (added.statusCode >= 300) throw new Error(added.body)
  }
  return caller.post('/cart/reservation')
}

const itemsOf = async (caller: TestCaller) => (await caller.get('/cart')).json().items
const reservedBy = async (caller: TestCaller) => (await caller.get('/cart')).json().reservation?.items ?? []
const buy = (caller: TestCaller, lines: Readonly<Record<string, number>>, takeFromCart = false) =>
  caller.post('/purchase', {
    items: Object.entries(lines).map(([product, quantity]) => ({ product, quantity })),
    takeFromCart,
  })

testOnEngines('a cart holds the stock of its lines, and others cannot have it', async (t) => {
  const { host, stockOf } = await shop(t, { tea: 5, cup: null })
  const [ann, ben] = [host.user('ann'), host.guest()]
  const began = Date.now()
  const reserved = await reserve(ann, { tea: 4, cup: 2 })
  t.equal(reserved.statusCode, 200)
  const { expiresAt, items } = reserved.json()
  t.strictSame(items, [{ product: 'tea', quantity: 4 }], 'a cup is always there')
  const after = Date.parse(expiresAt) - began
  t.ok(after >= 10 * MINUTE && after < 11 * MINUTE, expiresAt)
  t.equal(await stockOf('tea'), 1)
  const cart = (await ann.get('/cart')).json()
  t.strictSame(cart.reservation, reserved.json())
  t.strictSame(cart.items[0].warnings, [], 'what it has reserved is there for it')
  t.strictSame((await ann.get(`/cart/item/${cart.items[0].id}`)).json().warnings, [])
  t.match((await buy(ben, { tea: 2 })).json(), {
    code: 'out-of-stock',
    short: [{ product: 'tea', stock: 1 }],
  })
  const more = await ann.post('/cart/item', { product: 'tea', quantity: 2 })
  t.match(more.json(), { quantity: 6, warnings: [{ code: 'out-of-stock', available: 5 }] })
  t.equal(await stockOf('tea'), 1, 'what is added is reserved by a repetition')
})

testOnEngines('a repetition reserves what the lines have now, for as long again', async (t) => {
  const { host, stockOf } = await shop(t, { tea: 5, cup: 5 })
  const ann = host.user('ann')
  const first = (await reserve(ann, { tea: 4 })).json()
  const second = (await reserve(ann, { tea: 1, cup: 2 })).json()
  t.strictSame(second.items, [
    { product: 'tea', quantity: 5 },
    { product: 'cup', quantity: 2 },
  ])
  t.ok(second.expiresAt >= first.expiresAt)
  t.strictSame([await stockOf('tea'), await stockOf('cup')], [0, 3])
  await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  const short = await ann.post('/cart/reservation')
  t.match(short.json(), { status: 409, code: 'out-of-stock', short: [{ product: 'tea', stock: 5 }] })
  t.strictSame((await ann.get('/cart')).json().reservation.expiresAt, second.expiresAt, 'it stays as it was')
  t.strictSame([await stockOf('tea'), await stockOf('cup')], [0, 3])
})

testOnEngines('what leaves the lines is given back', async (t) => {
  const { host, stockOf } = await shop(t, { tea: 5, cup: 5, pot: 5 })
  const ann = host.user('ann')
  await reserve(ann, { tea: 5, cup: 3, pot: 1 })
  const [tea, cup] = await itemsOf(ann)
  await ann.patch(`/cart/item/${tea.id}`, { quantity: 2 })
  t.equal(await stockOf('tea'), 3)
  await ann.patch(`/cart/item/${tea.id}`, { note: 'loose' })
  await ann.delete(`/cart/item/${cup.id}`)
  t.equal(await stockOf('cup'), 5)
  t.strictSame(await reservedBy(ann), [
    { product: 'tea', quantity: 2 },
    { product: 'pot', quantity: 1 },
  ])
  const put = await ann.request('PUT', '/cart', { items: [{ product: 'tea', quantity: 1 }] })
  t.strictSame(put.json().reservation.items, [{ product: 'tea', quantity: 1 }])
  t.strictSame([await stockOf('tea'), await stockOf('pot')], [4, 5])
  await ann.delete('/cart')
  t.equal(await stockOf('tea'), 5)
  t.notOk('reservation' in (await ann.get('/cart')).json())
})

testOnEngines('what is reserved is sold without being taken again', async (t) => {
  const { host, stockOf } = await shop(t, { tea: 5, cup: 5 })
  for (const takeFromCart of [false, true]) {
    const ann = host.user(`ann-${takeFromCart}`)
    await reserve(ann, { tea: 5, cup: 2 })
    const first = await buy(ann, { tea: 3, cup: 3 }, false)
    t.equal(first.statusCode, 201, first.body)
    t.strictSame([await stockOf('tea'), await stockOf('cup')], [0, 2])
    t.strictSame(await reservedBy(ann), [{ product: 'tea', quantity: 2 }])
    const second = await buy(ann, { tea: 2 }, takeFromCart)
    t.equal(second.statusCode, 201, second.body)
    t.equal(await stockOf('tea'), 0)
    t.strictSame(await reservedBy(ann), [])
    const dear = await buy(ann, { tea: 1 })
    t.match(dear.json(), { code: 'out-of-stock' })
    for (const bought of [first, second])
      await ann.patch(`/purchase/${bought.json().id}`, { status: 'cancelled' })
    t.strictSame([await stockOf('tea'), await stockOf('cup')], [5, 5])
    await ann.delete('/cart')
    t.strictSame([await stockOf('tea'), await stockOf('cup')], [5, 5])
  }
})

testOnEngines('a purchase that fails, or is tried only, leaves the reservation', async (t) => {
  const { host, stockOf } = await shop(t, { tea: 5, cup: 1 })
  const ann = host.user('ann')
  await reserve(ann, { tea: 4 })
  t.match((await buy(ann, { tea: 4, cup: 2 }, true)).json(), { code: 'cart-changed' })
  t.match((await buy(ann, { tea: 4, cup: 2 })).json(), { code: 'out-of-stock' })
  const items = [{ product: 'tea', quantity: 5 }]
  t.equal((await ann.post('/purchase', { items, dryRun: true })).statusCode, 201)
  t.strictSame(await reservedBy(ann), [{ product: 'tea', quantity: 4 }])
  t.strictSame([await stockOf('tea'), await stockOf('cup')], [1, 1])
})

testOnEngines('an expired reservation is given back once', async (t) => {
  const { host, stockOf, expire } = await shop(t, { tea: 500, cup: 500 })
  const [ann, ben] = [host.user('ann'), host.user('ben')]
  await reserve(ann, { tea: 5, cup: 1 })
  await reserve(ben, { tea: 7 })
  await expire((await ann.get('/cart')).json().id)
  t.strictSame([await stockOf('tea'), await stockOf('cup')], [493, 500], "ben's is not due")
  await expire()
  await expire()
  t.equal(await stockOf('tea'), 500)
  t.strictSame(await reservedBy(ann), [])
  await ann.delete('/cart')
  await ann.delete('/cart')
  t.equal(await stockOf('tea'), 500)
})

testOnEngines('a reservation outlives its cart until it expires', async (t) => {
  const { host, stockOf, expire } = await shop(t, { tea: 5 })
  const ann = host.user('ann')
  await reserve(ann, { tea: 5 })
  await host.database.transaction(() => run(sql`DELETE FROM cart`))
  t.equal(await stockOf('tea'), 0)
  await expire()
  t.equal(await stockOf('tea'), 5)
})

testOnEngines('a cart shows its reservation as the request for it did', async (t) => {
  const { host } = await shop(t, { tea: 5, cup: 5 })
  const ann = host.user('ann')
  const reserved = await reserve(ann, { tea: 1, cup: 2 })
  t.strictSame(reserved.json(), (await ann.get('/cart')).json().reservation)
})

testOnEngines('a claim takes the reservation along', async (t) => {
  const { host, stockOf } = await shop(t, { tea: 20, cup: 5 })
  const guest = host.guest()
  await reserve(guest, { tea: 5 })
  const ann = host.user('ann')
  await ann.claim(guest)
  t.strictSame(await reservedBy(ann), [{ product: 'tea', quantity: 5 }])
  t.equal(await stockOf('tea'), 15)
  const other = host.guest()
  await reserve(other, { tea: 7, cup: 1 })
  t.equal(await stockOf('tea'), 8)
  await ann.claim(other)
  t.strictSame(await reservedBy(ann), [
    { product: 'tea', quantity: 7 },
    { product: 'cup', quantity: 1 },
  ])
  t.strictSame([await stockOf('tea'), await stockOf('cup')], [13, 4])
})

testOnEngines('only lines that could be purchased are reserved', async (t) => {
  const { host, manager, stockOf } = await shop(t, { tea: 5, cup: 5 })
  const ann = host.user('ann')
  t.match((await ann.post('/cart/reservation')).json(), { status: 409, code: 'cart-empty' })
  await reserve(ann, { tea: 1, cup: 1 })
  await manager.patch('/product/cup', { active: false }, { 'if-match': '*' })
  const refused = await ann.post('/cart/reservation')
  t.match(refused.json(), { status: 422, code: 'unknown-product', products: ['cup'] })
  t.strictSame([await stockOf('tea'), await stockOf('cup')], [4, 4])
  const { etag } = (await ann.get('/cart')).headers as { etag: string }
  await ann.delete(`/cart/item/${(await itemsOf(ann))[1].id}`)
  t.equal((await ann.post('/cart/reservation', undefined, { 'if-match': etag })).statusCode, 412)
  t.equal((await ann.post('/cart/reservation')).statusCode, 200)
})

testOnEngines('whatever ends it first, a reservation is given back or sold once', async (t) => {
  const { host, stockOf, expire } = await shop(t, { tea: 64 }, false)
  const buyers = Array.from({ length: 8 }, (_, index) => host.user(`buyer-${index}`))
  for (let round = 0; round < 4; round += 1) {
    const races = buyers.map(async (buyer) => {
      await reserve(buyer, { tea: 4 })
      const [tea] = await itemsOf(buyer)
      await Promise.all([
        buy(buyer, { tea: 2 }, true),
        buyer.patch(`/cart/item/${tea.id}`, { quantity: 1 }),
        buyer.delete('/cart'),
        buyer.post('/cart/reservation'),
      ])
    })
    // One of the transactions may find too many conflicts on PostgreSQL: it did nothing.
    await Promise.all([...races, expire().catch(() => {})])
    const [{ sold }, { held }] = await Promise.all([
      host.database.one<{ sold: number }>(sql`SELECT coalesce(sum(quantity), 0) AS sold FROM purchase_item`),
      host.database.one<{ held: number }>(
        sql`SELECT coalesce(sum(quantity), 0) AS held FROM cart_reservation`,
      ),
    ])
    t.equal((await stockOf('tea')) + sold + held, 64)
    await Promise.all(buyers.map((buyer) => buyer.delete('/cart')))
    await expire()
    t.equal((await stockOf('tea')) + sold, 64)
  }
})

testOnEngines('carts reserve nothing unless the setting and a catalogue are there', async (t) => {
  const refused = { status: 409, code: 'reservation-unavailable' }
  const config = { modules: { 'api-cart': { reservationMinutes: 10 } } }
  const alone = (await cartHost(t, { config })).user('ann')
  t.match((await reserve(alone, { tea: 1 })).json(), refused)
  t.notOk('reservation' in (await alone.get('/cart')).json())
  const ann = (await cartHost(t)).user('ann')
  t.match((await ann.post('/cart/reservation')).json(), refused)
})
