import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { temporarySchema } from '../../storage/test/engines.ts'
import { Browser, consoleHost, later } from './console-host.ts'
import { localIssuer } from './local-issuer.ts'

const redirectUri = 'https://shop.example/console/callback'

async function withIssuer(t: Test, oidc: object = {}) {
  const parts = await localIssuer(t)
  const { issuer } = parts.state
  const host = await consoleHost(t, {
    config: {
      auth: { issuer: 'mortise-testkit', issuers: [parts.trusted] },
      modules: { 'web-console': { oidc: { issuer, clientId: 'console', redirectUri, ...oidc } } },
    },
  })
  return { host, ...parts }
}

/** Begins, and lets the issuer grant it. */
async function granted(
  { host, grants }: Pick<Awaited<ReturnType<typeof withIssuer>>, 'host' | 'grants'>,
  scope = 'admin',
) {
  const browser = new Browser(host)
  const begun = await browser.get('/console/login')
  const address = new URL(String(begun.headers.location))
  grants.set('a-code', { challenge: address.searchParams.get('code_challenge') ?? '', scope, redirectUri })
  const callback = `/console/callback?code=a-code&state=${address.searchParams.get('state')}&session_state=x`
  return { browser, begun, address, callback }
}

t.test('an issuer signs in, by a code that only this browser can use', async (t) => {
  const parts = await withIssuer(t)
  const { browser, begun, address, callback } = await granted(parts)
  t.equal(begun.statusCode, 302)
  t.match(
    begun.headers['set-cookie'],
    /^__Host-console-login=\S+; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
  )
  t.match(Object.fromEntries(address.searchParams), {
    ...{
      response_type: 'code',
      client_id: 'console',
      redirect_uri: redirectUri,
      scope: 'openid',
      tenant: 'shop',
    },
    ...{ code_challenge_method: 'S256', code_challenge: /^[\w-]{43}$/, state: /^[\w-]{43}$/ },
  })
  const login = browser.cookie
  const done = await browser.get(callback)
  t.equal(done.statusCode, 302, done.body)
  t.equal(done.headers.location, '/console')
  t.equal(parts.state.authorization, '', 'a public client')
  const session = await browser.get('/console/session')
  t.match(session.json(), { subject: 'ann', scopes: ['admin'] })
  const again = new Browser(parts.host, login)
  t.match((await again.get(callback)).json(), { status: 401, code: 'login-failed' }, 'a code counts once')
})

t.test('a browser that did not begin is not signed in, and neither is one with another state', async (t) => {
  const parts = await withIssuer(t)
  const { browser, callback } = await granted(parts)
  const failed = { status: 401, code: 'login-failed' }
  t.match((await new Browser(parts.host).get(callback)).json(), failed, 'a planted link')
  const other = (await granted(parts)).browser
  t.match((await other.get(callback)).json(), failed, 'the state of another browser')
  t.match((await browser.get(`/console/callback?error=access_denied&state=x`)).json(), failed)
  t.equal(parts.seen.length, 0, 'the issuer is not asked')
  t.match((await browser.get('/console/session')).json(), { code: 'not-signed-in' })
})

t.test('the code of another login is refused by the issuer', async (t) => {
  const parts = await withIssuer(t)
  const { browser, callback } = await granted(parts)
  parts.grants.set('a-code', { challenge: 'of-somewhere-else', scope: 'admin', redirectUri })
  t.match((await browser.get(callback)).json(), { status: 401, code: 'login-failed' })
})

t.test('a user without a right to look is not signed in', async (t) => {
  const parts = await withIssuer(t)
  const { browser, callback } = await granted(parts, 'purchase:read')
  t.match((await browser.get(callback)).json(), { status: 403, code: 'insufficient-scope' })
})

t.test('a confidential client sends its secret', async (t) => {
  const parts = await withIssuer(t, { clientSecret: 's:3cret' })
  const { browser, callback } = await granted(parts)
  t.equal((await browser.get(callback)).statusCode, 302)
  t.equal(parts.state.authorization, `Basic ${Buffer.from('console:s%3A3cret').toString('base64')}`)
  t.notOk(parts.seen[0]?.has('client_secret'))
})

t.test('an issuer that says it is another one, or does not respond, signs nobody in', async (t) => {
  const parts = await withIssuer(t)
  parts.state.claims = 'https://evil.example'
  t.match((await new Browser(parts.host).get('/console/login')).json(), { status: 401, code: 'login-failed' })
  const gone = await withIssuer(t, { issuer: 'http://127.0.0.1:1' })
  t.match((await new Browser(gone.host).get('/console/login')).json(), { status: 401, code: 'login-failed' })
  const plain = await withIssuer(t, { issuer: 'http://login.example' })
  t.match((await new Browser(plain.host).get('/console/login')).json(), {
    code: 'login-failed',
    detail: /https/,
  })
})

t.test('an issuer that hangs does not keep the host from checking the module, which takes 5 s', async (t) => {
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const { host } = await withIssuer(t, { issuer })
  const begun = performance.now()
  t.match((await new Browser(host).get('/console/login')).json(), { status: 401, code: 'login-failed' })
  t.ok(performance.now() - begun < 4_500)
})

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('a session holds on hosts that trust its issuer now, as they did then', { skip }, async (t) => {
  const { url: database } = await temporarySchema(t)
  const parts = await localIssuer(t)
  const { issuer } = parts.state
  const oidc = { issuer, clientId: 'console', redirectUri }
  const hostWith = (...issuers: object[]) =>
    consoleHost(t, {
      config: {
        database,
        auth: { issuer: 'mortise-testkit', issuers },
        modules: { 'web-console': { oidc } },
      },
    })
  const host = await hostWith(parts.trusted)
  const { browser, callback } = await granted({ host, ...parts })
  t.equal((await browser.get(callback)).statusCode, 302)
  const statusAt = async (at: Awaited<ReturnType<typeof hostWith>>) =>
    (await new Browser(at, browser.cookie).get('/console/operator/audit')).statusCode
  const { audience, ...others } = parts.trusted
  t.same(
    {
      twin: await statusAt(await hostWith({ audience, ...others })),
      removed: await statusAt(await hostWith()),
      otherAudience: await statusAt(await hostWith({ ...others, audience: 'another' })),
      otherRights: await statusAt(await hostWith({ ...parts.trusted, scopes: { admin: ['operator:read'] } })),
    },
    { twin: 200, removed: 401, otherAudience: 401, otherRights: 401 },
  )
  parts.state.kid = 'two'
  t.equal(await statusAt(await hostWith(parts.trusted)), 401, 'the issuer has withdrawn the key')
  t.equal(await statusAt(host), 200, 'it still has the keys of the issuer')
})

t.test('a session ends with the token of the issuer, which gives no other to a removed user', async (t) => {
  const parts = await withIssuer(t)
  const { browser, callback } = await granted(parts)
  t.equal((await browser.get(callback)).statusCode, 302)
  t.equal((await browser.get('/console/session')).statusCode, 200)
  // Five minutes, and the tolerance for clocks.
  later(t, 331_000)
  t.match((await browser.get('/console/session')).json(), { status: 401, code: 'not-signed-in' })
})

t.test('a list of scopes of an issuer is not read as more of them', async (t) => {
  const parts = await withIssuer(t)
  parts.state.scp = ['operator:read', 'deploy admin']
  const { browser, callback } = await granted(parts)
  t.match((await browser.get(callback)).json(), { status: 401, code: 'not-signed-in', detail: /scope/ })
  parts.state.scp = ['operator:read', 'deploy']
  const next = await granted(parts)
  t.equal((await next.browser.get(next.callback)).statusCode, 302)
  t.same((await next.browser.get('/console/session')).json().scopes, ['operator:read', 'deploy'])
})

t.test('without the setting there is no login', async (t) => {
  const host = await consoleHost(t)
  for (const path of ['login', 'callback?code=a&state=b'])
    t.match((await new Browser(host).get(`/console/${path}`)).json(), { status: 404, code: 'no-login' })
})
