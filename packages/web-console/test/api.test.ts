import { brotliDecompressSync } from 'node:zlib'
import t from 'tap'
import { consoleHost, moduleIn, signedIn } from './console-host.ts'

const shop = { modules: [moduleIn('api-cart'), moduleIn('api-purchase')] }

t.test('the API of the application is below /console/api, for the user of the session', async (t) => {
  const host = await consoleHost(t, shop)
  const ann = host.user('ann')
  const { id } = (await ann.post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })).json()
  const browser = await signedIn(host)
  const read = await browser.get(`/console/api/purchase/${id}`)
  t.equal(read.statusCode, 200)
  t.equal(read.headers['cache-control'], 'no-store')
  t.match(read.headers.etag, /^"/)
  t.same(read.json(), (await host.user('root', 'admin').get(`/purchase/${id}`)).json())

  const list = await browser.get('/console/api/purchase?owner=*&status=pending&rpp=5')
  t.equal(list.json().total, 1)
  const bad = await browser.get('/console/api/purchase?nonsense=1')
  t.match(bad.json(), { status: 400, code: 'invalid-request' })

  const path = `/console/api/purchase/${id}`
  const stale = await browser.request(
    'PATCH',
    path,
    { status: 'confirmed' },
    {
      ...{ 'x-console': '1', 'sec-fetch-site': 'same-origin', 'if-match': '"0"' },
    },
  )
  t.equal(stale.statusCode, 412)
  const moved = await browser.request('PATCH', path, { status: 'confirmed' })
  t.match(moved.json(), { id, status: 'confirmed' })

  const own = await browser.post('/console/api/purchase', { items: [{ product: 'cup', quantity: 1 }] })
  t.equal(own.statusCode, 201)
  t.match(own.headers.location, '/purchase/')
  t.match(own.json().owner, /:root$/, 'the purchase belongs to the user of the session')
})

t.test(
  'a request without a body, and one whose path has encoded characters, arrive as they are',
  async (t) => {
    const host = await consoleHost(t, { modules: [moduleIn('api-product')] })
    const product = { id: 'a/b', name: 'Tea', price: { amount: 100, currency: 'EUR' } }
    const browser = await signedIn(host)
    t.equal((await browser.post('/console/api/product', product)).statusCode, 201)
    t.equal((await browser.get('/console/api/product/a%2Fb')).json().name, 'Tea')
    t.equal((await browser.request('DELETE', '/console/api/product/a%2Fb')).statusCode, 200)
  },
)

t.test('the document says which changes of a status there are; it arrives compressed', async (t) => {
  const browser = await signedIn(await consoleHost(t, shop))
  const response = await browser.get('/console/api/openapi.json', { 'accept-encoding': 'br' })
  t.equal(response.headers['content-encoding'], 'br')
  const { paths } = JSON.parse(String(brotliDecompressSync(response.rawPayload)))
  t.strictSame(paths['/purchase/{id}'].patch['x-transitions'], {
    pending: ['confirmed', 'cancelled'],
    confirmed: ['completed', 'cancelled'],
    ...{ completed: [], cancelled: [], expired: [] },
  })
})

t.test('below a base path, too', async (t) => {
  const host = await consoleHost(t, { ...shop, config: { basePath: '/shop' } })
  t.equal((await host.app.inject('/shop/console/session')).statusCode, 401)
})

t.test('a session without admin only looks', async (t) => {
  const host = await consoleHost(t, shop)
  const scope = 'operator:read purchase:read purchase:manage'
  const { id } = (
    await host.user('ann').post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })
  ).json()
  const browser = await signedIn(host, 'bob', scope)
  t.equal((await browser.get(`/console/api/purchase/${id}`)).statusCode, 200)
  const refused = await browser.request('PATCH', `/console/api/purchase/${id}`, { status: 'confirmed' })
  t.match(refused.json(), { status: 403, code: 'insufficient-scope' })
  t.equal((await browser.get(`/console/api/purchase/${id}`)).json().status, 'pending')
})

t.test('another origin changes nothing with the cookie', async (t) => {
  const host = await consoleHost(t, shop)
  const browser = await signedIn(host)
  for (const headers of [{}, { 'x-console': '1', origin: 'https://evil.example' }]) {
    const items = [{ product: 'tea', quantity: 1 }]
    const refused = await browser.request('POST', '/console/api/purchase', { items }, headers)
    t.match(refused.json(), { status: 403, code: 'foreign-request' })
  }
  t.equal((await browser.get('/console/api/purchase?owner=*')).json().total, 0)
})

t.test('a request is decided as if the browser had sent it to the route itself', async (t) => {
  const host = await consoleHost(t, { ...shop, config: { metrics: { allow: ['127.0.0.1'] } } })
  const browser = await signedIn(host, 'bob', 'operator:read purchase:read')
  t.equal((await browser.get('/console/api/metrics')).statusCode, 200, 'from an allowed address')
  for (const name of ['x-real-ip', 'forwarded', 'via', 'x-forwarded-for']) {
    const headers = { [name]: '192.0.2.7' }
    t.equal((await host.app.inject({ url: '/metrics', headers })).statusCode, 401, `${name}, directly`)
    t.equal((await browser.get('/console/api/metrics', headers)).statusCode, 403, `${name}, for the user`)
  }
})

t.test('another spelling of a path leads nowhere else', async (t) => {
  const browser = await signedIn(await consoleHost(t, shop))
  for (const path of ['/%63onsole/api/purchase', '/console/%61pi/purchase', '/console%2Fapi/purchase'])
    t.not((await browser.get(path)).statusCode, 200, path)
  t.equal((await browser.get('/console/api//purchase')).statusCode, 404)
})
