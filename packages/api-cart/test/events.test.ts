import { cartHost, testOnEngines } from './cart-host.ts'

testOnEngines('every change of a cart emits an event, in order; nothing else does', async (t) => {
  const host = await cartHost(t)
  const ann = host.user('ann')
  const tea = (await ann.post('/cart/item', { product: 'tea', quantity: 2 })).json().id
  await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  await ann.patch(`/cart/item/${tea}`, { quantity: 5 })
  await ann.patch(`/cart/item/${tea}`, { quantity: 5 })
  const milk = (await ann.post('/cart/item', { product: 'milk', quantity: 1 })).json().id
  await ann.delete(`/cart/item/${tea}`)
  await ann.delete(`/cart/item/${tea}`)
  await ann.delete('/cart')
  await ann.delete('/cart')
  const { id } = (await ann.get('/cart')).json()
  const events = await host.events()
  t.same(
    events.map(({ type, data }) => [type, data]),
    [
      ['cart.item-added', { id: tea, product: 'tea', quantity: 2, note: null, version: 1 }],
      ['cart.item-changed', { id: tea, product: 'tea', quantity: 3, note: null, version: 2 }],
      ['cart.item-changed', { id: tea, product: 'tea', quantity: 5, note: null, version: 3 }],
      ['cart.item-added', { id: milk, product: 'milk', quantity: 1, note: null, version: 4 }],
      ['cart.item-removed', { id: tea, product: 'tea', quantity: 5, note: null, version: 5 }],
      ['cart.emptied', { itemCount: 1, version: 6 }],
    ],
  )
  t.ok(events.every(({ subject, owner }) => subject === id && owner === 'user:mortise-testkit:ann'))
})

testOnEngines('a request repeated with its key emits one event, in its trace', async (t) => {
  const host = await cartHost(t)
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const add = () =>
    host
      .user('ann')
      .post('/cart/item', { product: 'tea', quantity: 2 }, { 'idempotency-key': 'k1', traceparent })
  await Promise.all([add(), add(), add()])
  t.match(await host.events(), [{ type: 'cart.item-added', traceparent }])
  t.equal((await host.events()).length, 1)
})

testOnEngines(
  'a claim emits an event with the new owner, whether the cart moves or joins another',
  async (t) => {
    const host = await cartHost(t)
    const first = host.guest()
    await first.post('/cart/item', { product: 'tea', quantity: 2 })
    const ann = host.user('ann')
    await ann.claim(first)
    const second = host.guest()
    await second.post('/cart/item', { product: 'milk', quantity: 1 })
    await ann.claim(second)
    const { id, version } = (await ann.get('/cart')).json()
    const claimed = (await host.events()).filter(({ type }) => type === 'cart.claimed')
    t.match(claimed, [
      { subject: id, owner: 'user:mortise-testkit:ann', data: { from: /^guest:/, version: 2 } },
      { subject: id, owner: 'user:mortise-testkit:ann', data: { from: /^guest:/, version } },
    ])
  },
)
