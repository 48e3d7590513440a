import { sql } from '@mortise/module-sdk'
import { onEngines } from '@mortise/module-testkit'
import { type JWTPayload, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { temporarySchema } from '../../storage/test/engines.ts'
import { Browser, consoleHost, later, signedIn, tokenOf } from './console-host.ts'

const testOnEngines = onEngines<Test>(t.test)

const linkFor = (scope = 'sign-in:admin', lifetime = '1m') => tokenOf('root', scope, lifetime)

testOnEngines('a token signs in, with a cookie that no script and no other site can use', async (t) => {
  const host = await consoleHost(t)
  const browser = new Browser(host)
  const response = await browser.post('/console/session', { token: await tokenOf('ann', 'operator:read') })
  t.equal(response.statusCode, 200)
  t.match(
    response.headers['set-cookie'],
    /^__Host-console=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
  )
  t.match(response.json(), {
    ...{ subject: 'ann', scopes: ['operator:read'], canChange: false, basePath: '' },
    modules: ['web-console'],
  })
  t.equal((await browser.get('/console/session')).json().subject, 'ann')
  const [row] = await host.database.many(sql`SELECT * FROM console_session`)
  t.notMatch(JSON.stringify(row), String(browser.cookie).split('=')[1], 'the database has a hash only')
})

t.test('a token without a right to look does not sign in', async (t) => {
  const host = await consoleHost(t)
  for (const [scope, code] of [
    ['purchase:read', 'insufficient-scope'],
    ['sign-in:admin', 'insufficient-scope'],
  ] as const) {
    const browser = new Browser(host)
    const response = await browser.post('/console/session', { token: await tokenOf('eve', scope) })
    t.match(response.json(), { status: 403, code }, scope)
    t.equal(browser.cookie, undefined)
  }
  const invalid = await new Browser(host).post('/console/session', { token: 'a.b.c' })
  t.match(invalid.json(), { status: 401, code: 'not-signed-in' })
})

testOnEngines('a one-time link signs in once, however many try at the same time', async (t) => {
  const host = await consoleHost(t)
  const link = await linkFor()
  const browsers = [1, 2, 3, 4].map(() => new Browser(host))
  const responses = await Promise.all(browsers.map((one) => one.post('/console/session', { link })))
  t.equal(responses.filter(({ statusCode }) => statusCode === 200).length, 1)
  const late = new Browser(host)
  const replayed = await late.post('/console/session', { link })
  t.match(replayed.json(), { status: 401, code: 'link-not-valid' })
  t.equal(late.cookie, undefined)
  const winner = browsers.find(({ cookie }) => cookie !== undefined)
  t.same((await winner?.get('/console/session'))?.json().scopes, ['admin'])
})

testOnEngines('a link is used up in all its spellings, until its token has expired', async (t) => {
  const host = await consoleHost(t)
  const link = await linkFor()
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = letters.indexOf(link.at(-1) as string)
  // The last of 43 characters has two spare bits.
  const spellings = [0, 1, 2, 3].map((bits) => link.slice(0, -1) + letters[(last & ~3) + bits])
  const used: number[] = []
  for (const spelling of [...spellings, `${link}=`, link.replace('.', '=.')])
    used.push((await new Browser(host).post('/console/session', { link: spelling })).statusCode)
  t.same(used.sort(), [200, 401, 401, 401, 401, 401])

  const own = { iss: 'mortise-testkit', sub: 'root', scope: 'sign-in:admin' }
  const seconds = Math.floor(Date.now() / 1000)
  const early = { ...own, jti: 'a', iat: seconds + 86_400, exp: seconds + 172_800 }
  const sign = (claims: object) =>
    new SignJWT(claims as JWTPayload)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from('a secret of 32 bytes, for tests only'))
  const ahead = await sign(early)
  t.equal((await new Browser(host).post('/console/session', { link: ahead })).statusCode, 200)
  later(t, 26 * 3_600_000)
  await host.app.inject('/')
  t.match((await new Browser(host).post('/console/session', { link: ahead })).json(), {
    code: 'link-not-valid',
  })
  const { jti: _, ...nameless } = { ...early, iat: seconds + 90_000 }
  t.match((await new Browser(host).post('/console/session', { link: await sign(nameless) })).json(), {
    code: 'link-not-valid',
  })
})

testOnEngines('all sessions end at once, and the audit trail knows who did it', async (t) => {
  const host = await consoleHost(t)
  const [ann, ben] = [await signedIn(host, 'ann'), await signedIn(host, 'ben', 'operator:read')]
  t.match((await ben.request('DELETE', '/console/session/all')).json(), { code: 'insufficient-scope' })
  t.match((await ann.request('DELETE', '/console/session/all', undefined, {})).json(), {
    code: 'foreign-request',
  })
  const thief = new Browser(host, ann.cookie)
  t.equal((await ben.get('/console/session')).statusCode, 200)
  t.equal((await ann.request('DELETE', '/console/session/all')).statusCode, 204)
  t.equal(ann.cookie, undefined)
  for (const browser of [thief, ben])
    t.match((await browser.get('/console/session')).json(), { code: 'not-signed-in' })
  const root = await signedIn(host)
  const { records } = (await root.get('/console/operator/audit')).json()
  t.match(records[0], { action: 'console.end-all', details: { sessions: 2, caller: /:ann$/ } })
})

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test(
  'a session, a used link and a sign-out are those of every host of the database',
  { skip },
  async (t) => {
    const { url: database } = await temporarySchema(t)
    const config = { database }
    const [one, other] = [await consoleHost(t, { config }), await consoleHost(t, { config })]
    const link = await linkFor()
    const here = new Browser(one)
    t.equal((await here.post('/console/session', { link })).statusCode, 200)
    const there = new Browser(other, here.cookie)
    t.match((await there.get('/console/session')).json(), { subject: 'root', scopes: ['admin'] })
    t.equal((await there.get('/console/operator/audit')).statusCode, 200)

    const replayed = new Browser(other)
    t.match((await replayed.post('/console/session', { link })).json(), {
      status: 401,
      code: 'link-not-valid',
    })
    t.equal(replayed.cookie, undefined)
    const contested = await linkFor()
    const both = [one, other, one, other].map((host) => new Browser(host))
    const tries = await Promise.all(
      both.map((browser) => browser.post('/console/session', { link: contested })),
    )
    t.same(tries.map(({ statusCode }) => statusCode).sort(), [200, 401, 401, 401], 'of all at once, one')

    t.equal((await there.request('DELETE', '/console/session')).statusCode, 204)
    t.match((await here.get('/console/session')).json(), { status: 401, code: 'not-signed-in' })
  },
)

t.test('a link is valid for a minute, and is no bearer token', async (t) => {
  const host = await consoleHost(t)
  const link = await linkFor('sign-in:admin', '1h')
  later(t, 61_000)
  const old = await new Browser(host).post('/console/session', { link })
  t.match(old.json(), { status: 401, code: 'link-not-valid' })
  const asToken = await host.app.inject({
    url: '/metrics',
    headers: { authorization: `Bearer ${link}`, 'x-forwarded-for': '203.0.113.9' },
  })
  t.equal(asToken.statusCode, 401)
  const token = await new Browser(host).post('/console/session', { link: await tokenOf('root', 'admin') })
  t.match(token.json(), { code: 'link-not-valid' }, 'a token is no link')
})

testOnEngines('after the sign-out nobody has the session, a thief of the cookie included', async (t) => {
  const host = await consoleHost(t)
  const browser = await signedIn(host)
  const thief = new Browser(host, browser.cookie)
  t.equal((await thief.get('/console/session')).statusCode, 200)
  t.equal((await browser.request('DELETE', '/console/session')).statusCode, 204)
  t.equal(browser.cookie, undefined)
  for (const path of [
    '/console/session',
    '/console/api/guest',
    '/console/now',
    '/console/operator/module-list',
  ])
    t.match((await thief.get(path)).json(), { status: 401, code: 'not-signed-in' }, path)
  t.equal((await thief.post('/console/api/guest')).statusCode, 401)
})

t.test('a new sign-in of a browser ends the session it had', async (t) => {
  const host = await consoleHost(t)
  const browser = await signedIn(host)
  const before = new Browser(host, browser.cookie)
  await browser.post('/console/session', { token: await tokenOf('root', 'admin') })
  t.equal((await before.get('/console/session')).statusCode, 401)
  t.equal((await browser.get('/console/session')).statusCode, 200)
})

t.test('a session ends when nobody uses it; what the page asks by itself does not count', async (t) => {
  const host = await consoleHost(t, { config: { modules: { 'web-console': { idleMinutes: 10 } } } })
  const [used, polled] = [await signedIn(host), await signedIn(host)]
  const poll = { 'x-console': 'poll' }
  for (const minutes of [8, 16]) {
    later(t, 8 * 60_000)
    t.equal((await used.get('/console/session')).statusCode, 200, `used, after ${minutes} minutes`)
    const expected = minutes === 8 ? 200 : 401
    t.equal((await polled.get('/console/session', poll)).statusCode, expected, `polled, after ${minutes}`)
  }
})

t.test('a session ends with its token, and after the hours of the setting', async (t) => {
  const host = await consoleHost(t, { config: { modules: { 'web-console': { idleMinutes: 1440 } } } })
  const short = new Browser(host)
  await short.post('/console/session', { token: await tokenOf('ann', 'admin', '20m') })
  const linked = new Browser(host)
  await linked.post('/console/session', { link: await linkFor() })
  later(t, 21 * 60_000)
  t.equal((await short.get('/console/session')).statusCode, 401)
  t.equal((await linked.get('/console/session')).statusCode, 200)
  later(t, 12 * 3_600_000)
  t.equal((await linked.get('/console/session')).statusCode, 401)
})

t.test('another origin, and a request without the header of the page, sign nobody in or out', async (t) => {
  const host = await consoleHost(t)
  const browser = await signedIn(host)
  const foreign = [
    { 'sec-fetch-site': 'same-origin' },
    { 'x-console': '1' },
    { 'x-console': '1', 'sec-fetch-site': 'cross-site' },
    { 'x-console': '1', 'sec-fetch-site': 'same-site' },
    { 'x-console': '1', origin: 'https://evil.example' },
    { 'x-console': '1', origin: 'null' },
  ]
  for (const headers of foreign) {
    const out = await browser.request('DELETE', '/console/session', undefined, headers)
    t.match(out.json(), { status: 403, code: 'foreign-request' }, JSON.stringify(headers))
    const token = await tokenOf('eve', 'admin')
    const entered = await new Browser(host).request('POST', '/console/session', { token }, headers)
    t.equal(entered.statusCode, 403)
  }
  t.equal((await browser.get('/console/session')).statusCode, 200)
  const own = { 'x-console': '1', host: 'shop.example', origin: 'https://shop.example' }
  t.equal((await browser.request('DELETE', '/console/session', undefined, own)).statusCode, 204)
})
