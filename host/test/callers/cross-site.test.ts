import { respond, sql } from '@mortise/module-sdk'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { bearer, setCookies, type TestAppOptions, testApp } from './test-app.ts'

/** A route as a module has it. */
const routes = (app: FastifyInstance) => {
  app.get('/mine', { config: { access: 'caller' } }, async (request) => ({ caller: request.caller.id }))
  app.post('/mine', { config: { access: 'caller' } }, (request) =>
    // biome-ignore lint/correctness/useYield: there is nothing to write
    request.transaction(function* () {
      return respond(201, {})
    }),
  )
}

const evil = 'https://evil.example'
const shop = 'https://shop.example'
const app = 'https://app.example'

const foreign: Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'cross-site', origin: evil },
  { 'sec-fetch-site': 'cross-site', origin: 'null' },
  { origin: evil },
  { origin: 'null' },
  { origin: '' },
  { origin: `${shop}.evil.example` },
  { origin: `${shop}, ${evil}` },
  { origin: evil, 'sec-fetch-site': 'unheard-of' },
  // As Node joins two of them.
  { 'sec-fetch-site': 'same-origin, cross-site' },
  { 'sec-fetch-site': 'same-origin, same-origin', origin: shop.replace('shop', 'other') },
  { 'sec-fetch-site': 'Cross-Site' },
  { 'sec-fetch-site': '' },
]
const own: Record<string, string>[] = [
  {},
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'same-site', origin: 'https://www.shop.example' },
  { 'sec-fetch-site': 'none' },
  // A form on a page whose Referrer-Policy is no-referrer.
  { 'sec-fetch-site': 'same-origin', origin: 'null' },
  { origin: shop },
  { origin: app },
  { 'sec-fetch-site': 'cross-site', origin: app },
]

const withGuest = async (t: Parameters<typeof testApp>[0], options: Partial<TestAppOptions> = {}) => {
  const tested = await testApp(t, { routes, publicUrl: shop, origins: [app], ...options })
  const { token } = (await tested.app.inject({ method: 'POST', url: '/guest' })).json()
  const post = (url: string, headers: Record<string, string>) =>
    tested.app.inject({ method: 'POST', url, headers })
  const count = async () => (await tested.storage.many(sql`SELECT id FROM mortise_guest`)).length
  return { ...tested, token, post, count, cookie: `__Host-guest=${token}` }
}

t.test('a request of another site neither sets the guest cookie nor has an effect', async (t) => {
  const { post, count, cookie, token } = await withGuest(t)
  const jwt = await bearer('ann')
  for (const headers of foreign) {
    const about = JSON.stringify(headers)
    for (const [url, own] of [
      ['/guest', {}],
      ['/guest', { cookie }],
      ['/mine', {}],
      ['/mine', { cookie }],
      ['/mine', { cookie: '__Host-guest=unknown' }],
      ['/guest/claim', { cookie, authorization: jwt }],
    ] as const) {
      const response = await post(url, { ...headers, ...own })
      t.equal(response.statusCode, 403, `${url} ${about}`)
      t.match(response.json(), { code: 'cross-site', type: 'urn:problem-type:host:cross-site' })
      t.notOk(
        setCookies(response).some((set) => !set.includes('=;')),
        `${url} ${about}`,
      )
    }
  }
  t.equal(await count(), 1)
  t.equal((await post('/mine', { 'guest-token': token })).statusCode, 201, 'the guest is as it was')
})

t.test('requests of this site, of CORS origins and of other clients are accepted', async (t) => {
  const { post, cookie } = await withGuest(t)
  for (const headers of own) {
    for (const [url, own] of [
      ['/guest', {}],
      ['/mine', {}],
      ['/mine', { cookie }],
    ] as const) {
      const response = await post(url, { ...headers, ...own })
      t.equal(response.statusCode, 201, `${url} ${JSON.stringify(headers)}`)
      t.equal(setCookies(response).length, 1)
    }
  }
})

t.test('requests without a new cookie are not checked for their site', async (t) => {
  const { app, post, token, cookie } = await withGuest(t)
  for (const headers of foreign) {
    for (const own of [{ 'guest-token': token }, { authorization: await bearer('ann'), cookie }]) {
      const response = await post('/mine', { ...headers, ...own })
      t.equal(response.statusCode, 201)
      t.same(setCookies(response), [])
    }
    for (const own of [{}, { cookie }]) {
      const response = await app.inject({ url: '/mine', headers: { ...headers, ...own } })
      t.equal(response.statusCode, 200, 'a link leads here')
      t.same(setCookies(response), [])
    }
    const missing = await post('/guest/claim', {
      ...headers,
      'guest-token': 'x',
      authorization: await bearer('ann'),
    })
    t.equal(missing.statusCode, 404)
  }
})

t.test('without publicUrl, Origin must name the host that was asked', async (t) => {
  const { post } = await withGuest(t, { publicUrl: undefined })
  for (const [origin, host, status] of [
    ['http://shop.example:8080', 'shop.example:8080', 201],
    ['http://shop.example', 'SHOP.example', 201],
    ['http://[::1]:3000', '[::1]:3000', 201],
    ['http://shop.example:8081', 'shop.example:8080', 403],
    ['http://evil.example', 'shop.example', 403],
    ['null', 'null', 403],
    ['null', 'shop.example', 403],
  ] as const) {
    t.equal((await post('/guest', { origin, host })).statusCode, status, `${origin} at ${host}`)
  }
})
