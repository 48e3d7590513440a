import { testOnEngines } from './purchase-host.ts'
import { buy, euros, sell, shop, stockOf } from './shop.ts'

testOnEngines('a purchase keeps name and price, and takes the stock', async (t) => {
  const host = await shop(t)
  const manager = host.user('root', 'product:manage purchase:manage')
  await sell(manager, {
    tea: { name: 'Green tea', price: euros(450), stock: 10 },
    cup: { price: euros(1200) },
  })
  const ann = host.user('ann')
  const bought = await buy(ann, { tea: 3, cup: 1 })
  t.equal(bought.statusCode, 201)
  const items = [
    { product: 'tea', name: 'Green tea', unitPrice: euros(450), lineTotal: euros(1350) },
    { product: 'cup', name: 'cup', unitPrice: euros(1200), lineTotal: euros(1200) },
  ]
  t.match(bought.json(), { total: euros(2550), items })
  t.strictSame([await stockOf(ann, 'tea'), await stockOf(ann, 'cup')], [7, null])
  await manager.patch('/product/tea', { name: 'Tea', price: euros(1) }, { 'if-match': '*' })
  await manager.delete('/product/cup')
  const path = `/purchase/${bought.json().id}`
  t.strictSame((await ann.get(path)).json(), bought.json())
  t.strictSame((await ann.get(`${path}/item`)).json().data, bought.json().items)
  t.match((await ann.get('/purchase')).json().data, [{ total: euros(2550) }])
  t.match(
    (await host.events()).filter(({ type }) => type === 'purchase.created'),
    [{ data: bought.json() }],
  )
})

testOnEngines('a purchase that takes too much takes nothing, and says what is short', async (t) => {
  const host = await shop(t)
  await sell(host.user('root', 'product:manage'), {
    tea: { stock: 5 },
    cup: { stock: 0 },
    pot: { stock: 2 },
    jam: {},
  })
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 6 })
  const items = [
    { product: 'tea', quantity: 3 },
    { product: 'pot', quantity: 2 },
    { product: 'cup', quantity: 1 },
    { product: 'tea', quantity: 3 },
    { product: 'jam', quantity: 9999 },
  ]
  const refused = await ann.post('/purchase', { items, takeFromCart: false })
  t.match(refused.json(), { status: 409, code: 'out-of-stock' })
  t.strictSame(refused.json().short, [
    { product: 'cup', stock: 0 },
    { product: 'tea', stock: 5 },
  ])
  const fromCart = await ann.post('/purchase', {
    items: items.slice(0, 1).concat(items[3] as never),
    takeFromCart: true,
  })
  t.match(fromCart.json(), { status: 409, code: 'out-of-stock' })
  t.match((await ann.get('/cart')).json(), { totalQuantity: 6 })
  t.strictSame([await stockOf(ann, 'tea'), await stockOf(ann, 'pot')], [5, 2])
  t.equal((await ann.get('/purchase')).json().total, 0)
  t.match((await buy(ann, { tea: 5 }, { takeFromCart: true })).json(), { total: euros(500) })
  t.equal(await stockOf(ann, 'tea'), 0)
})

testOnEngines('only active products of one currency are purchased', async (t) => {
  const host = await shop(t)
  const dollars = { amount: 500, currency: 'USD' }
  await sell(host.user('root', 'product:manage'), {
    tea: { otherPrices: [{ amount: 120, currency: 'USD' }], stock: 1 },
    cup: { price: dollars },
    pot: { price: { amount: 900, currency: 'JPY' } },
    old: { active: false },
    dear: { price: euros(900_000_000_000) },
    gold: { price: euros(900_000_000_000) },
  })
  const ann = host.user('ann')
  const unknown = await buy(ann, { nothing: 1, tea: 9, old: 1 })
  t.match(unknown.json(), { status: 422, code: 'unknown-product', products: ['nothing', 'old'] })
  const mixed = await buy(ann, { tea: 1, cup: 1, pot: 1 })
  t.match(mixed.json(), { status: 422, code: 'mixed-currency' })
  t.strictSame(mixed.json().currencies.toSorted(), ['EUR', 'JPY', 'USD'])
  t.match((await buy(ann, { dear: 9999, gold: 9999 })).json(), { status: 422, code: 'total-too-large' })
  t.equal(await stockOf(ann, 'tea'), 1)
  t.match((await buy(ann, { tea: 1, cup: 1 })).json(), { total: { amount: 620, currency: 'USD' } })
  t.match((await buy(ann, { dear: 9999 })).json(), { total: euros(900_000_000_000 * 9999) })
})

testOnEngines('what ends a purchase gives its stock back once', async (t) => {
  const host = await shop(t)
  const manager = host.user('root', 'product:manage purchase:manage')
  await sell(manager, { tea: { stock: 10 }, jam: {} })
  const ann = host.user('ann')
  const bought = async () => `/purchase/${(await buy(ann, { tea: 3, jam: 1 })).json().id}`
  const cancelled = await bought()
  t.equal(await stockOf(ann, 'tea'), 7)
  for (const status of [200, 409]) {
    t.equal((await ann.patch(cancelled, { status: 'cancelled' })).statusCode, status)
    t.equal(await stockOf(ann, 'tea'), 10)
  }
  await ann.delete(cancelled)
  t.equal(await stockOf(ann, 'tea'), 10)
  await ann.delete(await bought())
  t.equal(await stockOf(ann, 'tea'), 10)
  const confirmed = await bought()
  await manager.patch(confirmed, { status: 'confirmed' })
  t.equal(await stockOf(ann, 'tea'), 7)
  await manager.patch(confirmed, { status: 'cancelled' })
  t.equal(await stockOf(ann, 'tea'), 10)
  const completed = await bought()
  for (const status of ['confirmed', 'completed']) await manager.patch(completed, { status })
  t.equal((await ann.delete(completed)).statusCode, 409)
  t.equal(await stockOf(ann, 'tea'), 7)
})

testOnEngines('stock that is unlimited when it is sold, or given back, stays as it is', async (t) => {
  const host = await shop(t)
  const manager = host.user('root', 'product:manage')
  await sell(manager, { tea: {}, cup: { stock: 5 }, pot: { stock: 5 } })
  const ann = host.user('ann')
  const path = `/purchase/${(await buy(ann, { tea: 2, cup: 2, pot: 2 })).json().id}`
  await manager.patch('/product/tea', { stock: 1 }, { 'if-match': '*' })
  await manager.patch('/product/cup', { stock: null }, { 'if-match': '*' })
  await manager.delete('/product/pot')
  t.equal((await ann.patch(path, { status: 'cancelled' })).statusCode, 200)
  t.strictSame([await stockOf(ann, 'tea'), await stockOf(ann, 'cup')], [1, null])
})

testOnEngines('of 32 buyers of the last 5, 5 get one', async (t) => {
  const host = await shop(t, { rehearse: false })
  await sell(host.user('root', 'product:manage'), { tea: { stock: 5 }, cup: { stock: 100 } })
  const bought = await Promise.all(
    Array.from({ length: 32 }, (_, index) =>
      buy(host.user(`buyer-${index}`), index % 2 === 0 ? { tea: 1, cup: 1 } : { cup: 1, tea: 1 }),
    ),
  )
  t.strictSame(Map.groupBy(bought, ({ statusCode }) => statusCode).get(201)?.length, 5)
  t.strictSame(new Set(bought.map(({ statusCode }) => statusCode)), new Set([201, 409]))
  const ann = host.user('ann')
  t.strictSame([await stockOf(ann, 'tea'), await stockOf(ann, 'cup')], [0, 95])
})

testOnEngines('whatever ends it first, a purchase gives its stock back once', async (t) => {
  const host = await shop(t, { rehearse: false })
  const manager = host.user('root', 'product:manage purchase:manage')
  await sell(manager, { tea: { stock: 40 } })
  const ann = host.user('ann')
  const paths = await Promise.all(
    Array.from({ length: 8 }, async () => `/purchase/${(await buy(ann, { tea: 5 })).json().id}`),
  )
  t.equal(await stockOf(ann, 'tea'), 0)
  const ends = paths.flatMap((path) => [
    ann.patch(path, { status: 'cancelled' }),
    ann.delete(path),
    manager.patch(path, { status: 'cancelled' }),
  ])
  for (const { statusCode } of await Promise.all(ends))
    t.ok([200, 404, 409].includes(statusCode), `${statusCode}`)
  t.equal(await stockOf(ann, 'tea'), 40)
})

testOnEngines('64 buyers who want 500 get exactly the 100 in stock', async (t) => {
  const limits = { rateLimit: { max: 0, maxPerAddress: 100_000 } }
  const host = await shop(t, { rehearse: false, config: limits })
  await sell(host.user('root', 'product:manage'), { tea: { stock: 100 } })
  const statuses: number[] = []
  await Promise.all(
    Array.from({ length: 64 }, async (_, index) => {
      const buyer = host.user(`buyer-${index}`)
      for (let number = index; number < 500; number += 64) {
        let status: number
        // Where so many want one row, a busy machine may give a purchase up.
        do status = (await buy(buyer, { tea: 1 })).statusCode
        while (status === 503)
        statuses.push(status)
      }
    }),
  )
  t.equal(statuses.filter((status) => status === 201).length, 100)
  t.equal(statuses.filter((status) => status === 409).length, 400)
  t.equal(await stockOf(host.user('ann'), 'tea'), 0)
})
