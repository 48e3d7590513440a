import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Browser, consoleHost } from './console-host.ts'
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
async function granted({ host, grants }: Awaited<ReturnType<typeof withIssuer>>, scope = 'admin') {
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

t.test('without the setting there is no login', async (t) => {
  const host = await consoleHost(t)
  for (const path of ['login', 'callback?code=a&state=b'])
    t.match((await new Browser(host).get(`/console/${path}`)).json(), { status: 404, code: 'no-login' })
})
