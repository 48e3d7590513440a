import t from 'tap'
import { createApp } from './create-app.ts'

const origin = 'https://shop.example'
const preflight = {
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type',
}

t.test('is off unless origins are configured', async (t) => {
  const app = await createApp(t)
  const { headers } = await app.inject({ url: '/cart', headers: { origin } })
  t.notOk(headers['access-control-allow-origin'])
  t.equal((await app.inject({ method: 'OPTIONS', url: '/cart', headers: preflight })).statusCode, 405)
})

t.test('lets a configured origin read responses, failures included, without credentials', async (t) => {
  const app = await createApp(t, { origins: [origin, 'https://other.example'] })
  for (const url of ['/cart', '/cart?x=1', '/nope', '/cart/item/x']) {
    const { headers } = await app.inject({ url, headers: { origin } })
    t.equal(headers['access-control-allow-origin'], origin, url)
    t.notOk(headers['access-control-allow-credentials'])
    for (const name of [
      'Guest-Token',
      'ETag',
      'Location',
      'Link',
      'Request-Id',
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
      'Idempotent-Replayed',
    ]) {
      t.match(headers['access-control-expose-headers'], name)
    }
    t.match(headers.vary, /origin/i)
  }
})

t.test('says nothing to another origin', async (t) => {
  const app = await createApp(t, { origins: [origin] })
  for (const other of [
    'https://shop.example.evil.example',
    'http://shop.example',
    'null',
    'https://shop.example/',
  ]) {
    t.notOk(
      (await app.inject({ url: '/cart', headers: { origin: other } })).headers['access-control-allow-origin'],
    )
  }
})

t.test('responds to a preflight; an OPTIONS that is none is a method like others', async (t) => {
  const app = await createApp(t, { origins: [origin] })
  const { statusCode, headers } = await app.inject({
    method: 'OPTIONS',
    url: '/cart/item',
    headers: preflight,
  })
  t.equal(statusCode, 204)
  t.equal(headers['access-control-allow-origin'], origin)
  t.match(headers['access-control-allow-methods'], /PATCH/)
  t.equal(headers['access-control-allow-headers'], 'content-type')
  const other = await app.inject({ method: 'OPTIONS', url: '/cart' })
  t.equal(other.statusCode, 405)
  t.equal(other.headers.allow, 'DELETE, GET, HEAD')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/nope' })).statusCode, 404)
  for (const url of ['/nope', '/cart/', '/cart/item/'])
    t.equal((await app.inject({ method: 'OPTIONS', url, headers: preflight })).statusCode, 404, url)
  t.equal((await app.inject('/nope')).statusCode, 404)
})
