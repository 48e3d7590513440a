import { purchaseHost, testOnEngines } from './purchase-host.ts'

const tea = { items: [{ product: 'tea', quantity: 2 }] }

testOnEngines('the creation of a purchase and each change emit events, in order', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const created = (await ann.post('/purchase', tea)).json()
  const manager = host.user('manager', 'purchase:manage')
  await manager.patch(`/purchase/${created.id}`, { status: 'confirmed' })
  await manager.patch(`/purchase/${created.id}`, { status: 'pending' })
  await ann.patch(`/purchase/${created.id}`, { status: 'cancelled' })
  await ann.delete(`/purchase/${created.id}`)
  const events = await host.events()
  t.same(
    events.map(({ type, data }) => [type, data]),
    [
      ['purchase.created', created],
      ['purchase.status-changed', { status: 'confirmed', from: 'pending', version: 2 }],
      ['purchase.status-changed', { status: 'cancelled', from: 'confirmed', version: 3 }],
      ['purchase.deleted', { status: 'cancelled' }],
    ],
  )
  t.ok(events.every(({ subject, owner }) => subject === created.id && owner === 'user:mortise-testkit:ann'))
})

testOnEngines('a claim emits an event for each purchase, with its new owner', async (t) => {
  const host = await purchaseHost(t)
  const guest = host.guest()
  const one = (await guest.post('/purchase', tea)).json().id
  const other = (await guest.post('/purchase', tea)).json().id
  await host.user('ann').claim(guest)
  const claimed = (await host.events()).filter(({ type }) => type === 'purchase.claimed')
  t.same(new Set(claimed.map(({ subject }) => subject)), new Set([one, other]))
  for (const event of claimed) {
    t.match(event, { owner: 'user:mortise-testkit:ann', data: { from: /^guest:/, version: 2 } })
  }
})
