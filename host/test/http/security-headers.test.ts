import t from 'tap'
import { createApp } from './create-app.ts'

t.test('every response has the security headers', async (t) => {
  const app = await createApp(t)
  for (const url of ['/', '/cart', '/cart/item/x', '/nope', '/cart?x=1', '/health/ready']) {
    const { headers } = await app.inject(url)
    t.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'", url)
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.equal(headers['referrer-policy'], 'no-referrer')
    t.notOk(headers['strict-transport-security'])
    t.notOk(headers['x-powered-by'])
  }
})

t.test('responses for a caller are not cached', async (t) => {
  const app = await createApp(t)
  t.equal((await app.inject('/cart')).headers['cache-control'], 'no-store')
  t.equal((await app.inject('/cart/item/x')).headers['cache-control'], 'no-store')
  t.equal((await app.inject({ method: 'POST', url: '/purchase' })).headers['cache-control'], 'no-store')
  t.notOk((await app.inject('/')).headers['cache-control'])
})

t.test('HSTS is sent only if callers use https', async (t) => {
  const secure = await createApp(t, { publicUrl: 'https://shop.example' })
  t.match((await secure.inject('/cart')).headers['strict-transport-security'], /max-age=\d{8}/)
  const plain = await createApp(t, { publicUrl: 'http://shop.example' })
  t.notOk((await plain.inject('/cart')).headers['strict-transport-security'])
})
