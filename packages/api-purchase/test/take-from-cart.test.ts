import { fileURLToPath } from 'node:url'
import { createTestHost, type TestCaller } from '@mortise/module-testkit'
import type { Test } from 'tap'
import plugin from '../src/index.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** A host with this module, from its sources, and the cart. */
const shop = (t: Test, rehearse = true) =>
  createTestHost(t, {
    rehearse,
    modules: [{ directory: folder('..'), plugin }, { directory: folder('../../api-cart') }],
  })

const fill = async (caller: TestCaller, lines: Readonly<Record<string, number>>) => {
  for (const [product, quantity] of Object.entries(lines))
    await caller.post('/cart/item', { product, quantity })
}

const linesOf = async (caller: TestCaller): Promise<Record<string, number>> => {
  const { data } = (await caller.get('/cart/item')).json()
  return Object.fromEntries(
    data.map(({ product, quantity }: { product: string; quantity: number }) => [product, quantity]),
  )
}

/** Purchases `lines`. */
const purchase = (caller: TestCaller, lines: Readonly<Record<string, number>>, takeFromCart?: boolean) =>
  caller.post('/purchase', {
    items: Object.entries(lines).map(([product, quantity]) => ({ product, quantity })),
    ...(takeFromCart === undefined ? {} : { takeFromCart }),
  })

testOnEngines('exactly the purchased quantities leave the cart', async (t) => {
  const host = await shop(t)
  for (const caller of [host.user('ann'), host.guest()]) {
    await fill(caller, { tea: 5, milk: 2, rice: 1 })
    const before = await caller.get('/cart')
    const twice = [
      { product: 'tea', quantity: 2 },
      { product: 'milk', quantity: 2 },
      { product: 'tea', quantity: 1 },
    ]
    const created = await caller.post('/purchase', { items: twice, takeFromCart: true })
    t.equal(created.statusCode, 201)
    t.match(created.json(), { itemCount: 2, totalQuantity: 5 })
    t.notOk('takeFromCart' in created.json())
    t.same(await linesOf(caller), { tea: 2, rice: 1 })
    const after = await caller.get('/cart')
    t.equal(after.json().version, before.json().version + 1)
    t.not(after.headers.etag, before.headers.etag)
    const [tea, rice] = after.json().items
    t.equal(tea.version, 2)
    t.equal(rice.version, 1)
  }
})

testOnEngines('without takeFromCart the cart stays as it is', async (t) => {
  const ann = (await shop(t)).user('ann')
  await fill(ann, { tea: 5 })
  const before = (await ann.get('/cart')).body
  t.equal((await purchase(ann, { tea: 5 })).statusCode, 201)
  t.equal((await purchase(ann, { tea: 9 }, false)).statusCode, 201)
  t.equal((await ann.get('/cart')).body, before)
})

testOnEngines('nothing happens if the cart has less', async (t) => {
  const host = await shop(t)
  const [ann, ben] = [host.user('ann'), host.user('ben')]
  await fill(ben, { tea: 99, rice: 99 })
  t.equal((await purchase(ann, { tea: 1 }, true)).json().code, 'cart-changed', 'there is no cart')
  await fill(ann, { tea: 5, milk: 2 })
  const before = (await ann.get('/cart')).body
  const refused = await purchase(ann, { milk: 2, tea: 6, rice: 1 }, true)
  t.equal(refused.statusCode, 409)
  t.match(refused.json(), { type: 'urn:problem-type:api-purchase:cart-changed' })
  t.same(refused.json().short, [
    { product: 'tea', quantity: 5 },
    { product: 'rice', quantity: 0 },
  ])
  t.equal((await ann.get('/cart')).body, before)
  t.equal((await ann.get('/purchase')).json().total, 0)
  t.same(await linesOf(ben), { tea: 99, rice: 99 })
})

testOnEngines('takeFromCart without the cart module is 422; other purchases work', async (t) => {
  const ann = (await purchaseHost(t)).user('ann')
  const refused = await purchase(ann, { tea: 1 }, true)
  t.match(refused.json(), { status: 422, code: 'cart-unavailable' })
  t.equal((await ann.get('/purchase')).json().total, 0)
  t.equal((await purchase(ann, { tea: 1 }, false)).statusCode, 201)
})

testOnEngines('takeFromCart is a boolean', async (t) => {
  const ann = (await shop(t)).user('ann')
  for (const takeFromCart of [null, 'true', 1, {}]) {
    const refused = await ann.post('/purchase', { items: [{ product: 'tea', quantity: 1 }], takeFromCart })
    t.match(refused.json(), { status: 400, errors: [{ pointer: '/takeFromCart' }] })
  }
})

testOnEngines('16 concurrent purchases never take more than the cart had', async (t) => {
  const ann = (await shop(t, false)).user('ann')
  await fill(ann, { tea: 20, milk: 100 })
  const responses = await Promise.all(
    Array.from({ length: 16 }, () => purchase(ann, { tea: 3, milk: 1 }, true)),
  )
  const created = responses.filter(({ statusCode }) => statusCode === 201)
  t.equal(created.length, 6)
  t.same(
    responses.filter(({ statusCode }) => statusCode !== 201).map((refused) => refused.json().code),
    Array(10).fill('cart-changed'),
  )
  t.same(await linesOf(ann), { tea: 2, milk: 94 })
  t.equal((await ann.get('/purchase')).json().total, 6)
})
