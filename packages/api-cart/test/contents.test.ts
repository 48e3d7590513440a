import type { TestCaller } from '@mortise/module-testkit'
import { cartHost, testOnEngines } from './cart-host.ts'

const set = (caller: TestCaller, items: readonly object[], headers = {}) =>
  caller.request('PUT', '/cart', { items }, headers)

const lines = ({ items }: { items: { product: string; quantity: number; note: string | null }[] }) =>
  items.map(({ product, quantity, note }) => [product, quantity, note])

testOnEngines('all lines are set at once, and those that stay keep their ids', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const made = await set(ann, [
    { product: 'tea', quantity: 2, note: 'loose' },
    { product: 'cup', quantity: 1 },
    { product: 'pot', quantity: 1 },
  ])
  t.equal(made.statusCode, 200)
  t.strictSame(lines(made.json()), [
    ['tea', 2, 'loose'],
    ['cup', 1, null],
    ['pot', 1, null],
  ])
  t.strictSame((await ann.get('/cart')).json(), made.json())
  const before = made.json().items
  const changed = await set(ann, [
    { product: 'jam', quantity: 9 },
    { product: 'tea', quantity: 3 },
    { product: 'pot', quantity: 1 },
    { product: 'bun', quantity: 4 },
  ])
  t.strictSame(lines(changed.json()), [
    ['tea', 3, null],
    ['pot', 1, null],
    ['jam', 9, null],
    ['bun', 4, null],
  ])
  const [tea, pot] = changed.json().items
  t.strictSame([tea.id, pot.id, pot.version], [before[0].id, before[2].id, 1])
  const events = (await host.events()).slice(3)
  t.strictSame(
    events.map(({ type, data }) => [type, (data as { product: string }).product]),
    [
      ['cart.item-removed', 'cup'],
      ['cart.item-changed', 'tea'],
      ['cart.item-added', 'jam'],
      ['cart.item-added', 'bun'],
    ],
  )
  await ann.post('/cart/item', { product: 'milk', quantity: 1 })
  t.strictSame(lines((await ann.get('/cart')).json()).at(-1), ['milk', 1, null])
})

testOnEngines('what is set again changes nothing', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  t.match((await set(ann, [])).json(), { id: null, version: 0, items: [] })
  const items = [{ product: 'tea', quantity: 2 }]
  const first = await set(ann, items)
  t.strictSame((await set(ann, items)).json(), first.json())
  t.equal((await host.events()).length, 1)
  const emptied = (await set(ann, [])).json()
  t.match(emptied, { id: first.json().id, version: first.json().version + 1, items: [], itemCount: 0 })
})

testOnEngines('a stale If-Match, a repeated product and a long list change nothing', async (t) => {
  const ann = (await cartHost(t)).user('ann')
  const { etag } = (await set(ann, [{ product: 'tea', quantity: 2 }])).headers as { etag: string }
  const stays = (await ann.get('/cart')).body
  const twice = await set(ann, [
    { product: 'cup', quantity: 1 },
    { product: 'cup', quantity: 2 },
  ])
  t.match(twice.json(), { status: 400, errors: [{ pointer: '/items/1/product' }] })
  const long = Array.from({ length: 201 }, (_, index) => ({ product: `p-${index}`, quantity: 1 }))
  t.equal((await set(ann, long)).statusCode, 400)
  t.equal((await ann.get('/cart')).body, stays)
  t.equal((await set(ann, long.slice(1), { 'if-match': etag })).statusCode, 200)
  t.equal((await set(ann, [], { 'if-match': etag })).statusCode, 412)
  t.match((await ann.get('/cart')).json(), { itemCount: 200, totalQuantity: 200 })
})

testOnEngines('of many who set it at once, one has set all of it', async (t) => {
  const ann = (await cartHost(t, { rehearse: false })).user('ann')
  const contents = Array.from({ length: 8 }, (_, index) =>
    ['tea', 'cup', `own-${index}`].map((product) => ({ product, quantity: index + 1 })),
  )
  await Promise.all(contents.map((items) => set(ann, items)))
  const { items } = (await ann.get('/cart')).json()
  t.equal(items.length, 3)
  t.equal(new Set(items.map(({ quantity }: { quantity: number }) => quantity)).size, 1)
})
