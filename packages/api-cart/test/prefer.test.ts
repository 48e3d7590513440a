import t from 'tap'
import { prefersRepresentation } from '../src/prefer.ts'
import { cartHost, testOnEngines } from './cart-host.ts'

t.test('the first return preference of RFC 7240 counts', async (t) => {
  for (const header of [
    'return=representation',
    'Return = "representation"',
    'respond-async, return=representation; foo="some, value"',
    ['wait=1', 'return=representation'],
  ]) {
    t.ok(prefersRepresentation(header), `${header}`)
  }
  for (const header of [
    undefined,
    '',
    'return=minimal',
    'return',
    'return=minimal, return=representation',
    'x-return=representation',
  ])
    t.notOk(prefersRepresentation(header), `${header}`)
})

testOnEngines('each write to an item responds with the whole cart, if that is preferred', async (t) => {
  const ann = (await cartHost(t)).user('ann')
  const prefer = { prefer: 'return=representation' }
  const whole = async (written: Awaited<ReturnType<typeof ann.get>>, status: number) => {
    t.equal(written.statusCode, status)
    t.equal(written.headers['preference-applied'], 'return=representation')
    const cart = await ann.get('/cart')
    t.strictSame(written.json(), cart.json())
    return cart
  }
  await ann.post('/cart/item', { product: 'cup', quantity: 1 })
  const added = await ann.post('/cart/item', { product: 'tea', quantity: 1 }, prefer)
  const cart = await whole(added, 201)
  t.equal(added.headers.etag, cart.headers.etag)
  const item = `/cart/item/${cart.json().items[1].id}`
  t.equal(added.headers.location, item)
  await whole(await ann.post('/cart/item', { product: 'tea', quantity: 1 }, prefer), 200)
  await whole(await ann.patch(item, { quantity: 5 }, prefer), 200)
  await whole(await ann.delete(item, prefer), 200)
  for (const other of [{}, { prefer: 'return=minimal' }]) {
    const written = await ann.post('/cart/item', { product: 'tea', quantity: 1 }, other)
    t.match(written.json(), { product: 'tea' })
    t.notOk(written.headers['preference-applied'])
  }
})
