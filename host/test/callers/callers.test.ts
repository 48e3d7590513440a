import { type AddressInfo, connect } from 'node:net'
import { mock } from 'node:test'
import { type Access, one, respond, run, sql } from '@mortise/module-sdk'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t from 'tap'
import { keysUnavailable } from '../../src/callers/jwks.ts'
import type { TokenVerifier } from '../../src/callers/token-verifier.ts'
import { User } from '../../src/callers/user.ts'
import { bearer, setCookies, type TestAppOptions, testApp } from './test-app.ts'

const show = (request: { caller: { id: string; kind: string } }) => ({
  id: request.caller.id,
  kind: request.caller.kind,
})

function get(app: FastifyInstance, path: string, access: Access) {
  app.get(path, { config: { access } }, async (request) => show(request))
}

const routes: TestAppOptions['routes'] = (app) => {
  get(app, '/me', 'caller')
  get(app, '/managed', 'purchase:manage')
  get(app, '/admin', 'admin')
  get(app, '/careless', 'public')
  app.get('/public', { config: { access: 'public' } }, async () => 'hello')
  app.post('/echo', { config: { access: 'caller' }, schema: { body: {} } }, async (request) => request.body)
  app.post('/write', { config: { access: 'caller' } }, (request) => {
    const { id } = request.caller
    return request.transaction(function* () {
      return respond(200, yield* one(sql`SELECT ${id} AS id`))
    })
  })
}

async function newGuest(app: FastifyInstance) {
  const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
  const { id } = (await app.inject({ url: '/me', headers: { 'guest-token': token } })).json()
  return { token, id } as { token: string; id: string }
}

t.test('a JWT makes its user the caller, whatever guest tokens come with it', async (t) => {
  const { app } = await testApp(t, { routes })
  const guest = await newGuest(app)
  const authorization = await bearer('ann')
  for (const headers of [
    { authorization },
    { authorization, 'guest-token': guest.token, cookie: `guest=${guest.token}` },
    { authorization, 'guest-token': 'unknown' },
    { authorization: authorization.replace('Bearer ', 'bEARER   ') },
  ]) {
    const response = await app.inject({ url: '/me', headers })
    t.strictSame(response.json(), { id: 'user:urn%3Atest%3Aapplication:ann', kind: 'user' })
    t.strictSame(setCookies(response), [])
  }
})

t.test('a bad Authorization is 401, never a guest', async (t) => {
  const { app } = await testApp(t, { routes })
  const guest = await newGuest(app)
  const good = await bearer('ann')
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer x',
    `${good}x`,
    `${good}, ${good}`,
    good.replace('Bearer', 'Basic'),
    good.replace('Bearer ', 'Bearer'),
    good.replace('Bearer ', ''),
    `Bearer ${guest.token}`,
    'Basic YTpi',
  ]) {
    const headers = { authorization, 'guest-token': guest.token, cookie: `guest=${guest.token}` }
    for (const url of ['/me', '/managed']) {
      const response = await app.inject({ url, headers })
      t.equal(response.statusCode, 401, authorization)
      t.match(response.json(), { type: 'urn:problem-type:host:unauthorized', status: 401 })
      t.match(
        response.headers['www-authenticate'],
        /^Bearer error="invalid_token", error_description="[^"\\]+"$/,
      )
    }
  }
})

t.test('credentials that were not sent are not called bad', async (t) => {
  const { app } = await testApp(t, { routes })
  for (const authorization of ['', 'Bearer', 'Bearer ', 'bearer   ']) {
    const { statusCode, body } = await app.inject({ url: '/me', headers: { authorization } })
    t.equal(statusCode, 401)
    t.match(JSON.parse(body).detail, /nothing follows Bearer/, authorization)
  }
  const { statusCode, body } = await app.inject({ url: '/me', headers: { 'guest-token': '' } })
  t.equal(statusCode, 401)
  t.match(JSON.parse(body).detail, /Guest-Token is empty/)
})

t.test('two Authorization headers are refused, though Node shows the first only', async (t) => {
  const { app } = await testApp(t, { routes })
  await app.listen({ port: 0 })
  const { port } = app.server.address() as AddressInfo
  const [ann, bob] = [await bearer('ann'), await bearer('bob')]
  const ask = (...lines: string[]) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, 'localhost')
      const chunks: Buffer[] = []
      socket.on('data', (chunk) => chunks.push(chunk))
      socket.on('end', () => resolve(Buffer.concat(chunks).toString()))
      socket.on('error', reject)
      socket.write(['GET /me HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n'))
    })
  t.match(await ask(`Authorization: ${ann}`), /^HTTP\/1.1 200/)
  t.match(await ask(`Authorization: ${ann}`, `authorization: ${bob}`), /^HTTP\/1.1 401/)
  t.match(await ask(`Authorization: ${ann}`, `AUTHORIZATION: ${ann}`), /^HTTP\/1.1 401/)
})

t.test('without credentials every read is a new caller, and nothing is stored', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  const [one, other] = [await app.inject('/me'), await app.inject('/me')]
  t.match(one.json(), { kind: 'guest', id: /^guest:guest_/ })
  t.not(one.json().id, other.json().id)
  t.notOk(one.headers['guest-token'])
  t.strictSame(setCookies(one), [])
  t.strictSame(await storage.many(sql`SELECT * FROM mortise_guest`), [])
})

t.test('the guest of the header wins over that of the cookie', async (t) => {
  const { app } = await testApp(t, { routes })
  const [one, other] = [await newGuest(app), await newGuest(app)]
  const me = async (headers: Record<string, string>) => (await app.inject({ url: '/me', headers })).json().id
  t.equal(await me({ 'guest-token': one.token }), one.id)
  t.equal(await me({ cookie: `guest=${other.token}` }), other.id)
  t.equal(await me({ cookie: `a=b; guest=${other.token}; c=d` }), other.id)
  t.equal(await me({ 'guest-token': one.token, cookie: `guest=${other.token}` }), one.id)
})

t.test('an unknown Guest-Token header is 401, even with a valid cookie', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  const [one, other] = [await newGuest(app), await newGuest(app)]
  const unknown = Buffer.alloc(32).toString('base64url')
  for (const token of [
    '',
    ' ',
    'x',
    unknown,
    `${one.token}x`,
    `${one.token}, ${other.token}`,
    `${one.token}, ${one.token}`,
  ]) {
    const headers = { 'guest-token': token, cookie: `guest=${other.token}` }
    const response = await app.inject({ url: '/me', headers })
    t.equal(response.statusCode, 401, token)
    t.equal(response.headers['www-authenticate'], 'Bearer')
    t.strictSame(setCookies(response), [])
  }
  await storage.transaction(() => run(sql`UPDATE mortise_guest SET expires_at = ${Date.now()}`))
  t.equal((await app.inject({ url: '/me', headers: { 'guest-token': one.token } })).statusCode, 401)
})

t.test('an unknown cookie is cleared, and the caller becomes new', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  const [one, other] = [await newGuest(app), await newGuest(app)]
  const cleared =
    /^guest=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax$/
  for (const cookie of [
    'guest=',
    'guest=x',
    `guest=${one.token}x`,
    `guest="${one.token}"`,
    'guest=x; guest=y',
    'guest=a; guest=b; guest=c; guest=d; guest=e',
  ]) {
    const response = await app.inject({ url: '/me', headers: { cookie } })
    t.equal(response.statusCode, 200, cookie)
    t.notOk([one.id, other.id].includes(response.json().id))
    t.match(setCookies(response), [cleared])
  }
  const twice = await app.inject({
    url: '/me',
    headers: { cookie: `guest=${one.token}; guest=${one.token}` },
  })
  t.equal(twice.json().id, one.id, 'the same twice is the same')
  for (const cookie of [`guest=${other.token}; a=b; guest=x`, `guest=x; guest=${other.token}`]) {
    const response = await app.inject({ url: '/me', headers: { cookie } })
    t.equal(response.json().id, other.id, 'one that is planted takes nobody away')
    t.strictSame(setCookies(response), [])
  }
  const both = `guest=${other.token}; guest=${one.token}`
  for (const cookie of [both, `guest=a; guest=b; guest=c; guest=d; ${both}`]) {
    for (const method of ['GET', 'POST'] as const) {
      const url = method === 'GET' ? '/me' : '/write'
      const response = await app.inject({ method, url, headers: { cookie } })
      t.equal(response.json().id, other.id, 'the first guest is the caller')
      t.strictSame(setCookies(response), [], 'nobody takes the place of the other')
    }
  }
  for (const cookie of [
    `guests=${one.token}`,
    `xguest=${one.token}`,
    `Guest=${one.token}`,
    'guest',
    `a=guest=${one.token}`,
  ]) {
    const response = await app.inject({ url: '/me', headers: { cookie } })
    t.not(response.json().id, one.id)
    t.strictSame(setCookies(response), [], `${cookie} is not ours`)
  }
  await storage.transaction(() => run(sql`UPDATE mortise_guest SET expires_at = ${Date.now()}`))
  const expired = await app.inject({
    method: 'POST',
    url: '/write',
    headers: { cookie: `guest=${one.token}` },
  })
  t.equal(expired.statusCode, 200)
  t.not(expired.json().id, one.id)
  t.match(setCookies(expired), [/^guest=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/])
})

t.test('behind https the cookie is __Host-guest and Secure, and no other is read', async (t) => {
  const { app } = await testApp(t, { routes, publicUrl: 'https://shop.example', basePath: '/api' })
  const issued = await app.inject({ method: 'POST', url: '/api/guest' })
  const { token } = issued.json()
  t.strictSame(setCookies(issued), [
    `__Host-guest=${token}; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Lax`,
  ])
  const me = async (cookie: string) => app.inject({ url: '/api/me', headers: { cookie } })
  const { id } = (await me(`__Host-guest=${token}`)).json()
  t.equal((await me(`guest=x; __Host-guest=${token}`)).json().id, id)
  const other = await me(`guest=${token}`)
  t.not(other.json().id, id)
  t.strictSame(setCookies(other), [])
  t.match(setCookies(await me('__Host-guest=x')), [/^__Host-guest=; Max-Age=0; Path=\/;.* Secure;/])
})

t.test('only signed-in callers can have a scope', async (t) => {
  const { app } = await testApp(t, { routes })
  const guest = await newGuest(app)
  const ask = async (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
  for (const headers of [
    {},
    { 'guest-token': guest.token },
    { cookie: `guest=${guest.token}` },
    { 'guest-token': 'x' },
  ]) {
    const response = await ask('/managed', headers as Record<string, string>)
    t.equal(response.statusCode, 401)
    t.equal(response.headers['www-authenticate'], 'Bearer scope="purchase:manage"')
  }
  for (const scope of [
    undefined,
    'purchase:read',
    'purchase',
    'purchase:manage:x',
    'purchase:Manage',
    'administrator',
  ]) {
    const response = await ask('/managed', { authorization: await bearer('ann', scope) })
    t.equal(response.statusCode, 403, scope ?? 'no scope')
    t.equal(response.json().code, 'insufficient-scope')
    t.equal(
      response.headers['www-authenticate'],
      'Bearer error="insufficient_scope", scope="purchase:manage"',
    )
  }
  const allowed = { authorization: await bearer('ann', 'x purchase:manage') }
  t.equal((await ask('/managed', allowed)).statusCode, 200)
  t.equal((await ask('/admin', allowed)).statusCode, 403)
  const admin = { authorization: await bearer('root', 'admin') }
  t.equal((await ask('/managed', admin)).statusCode, 200)
  t.equal((await ask('/admin', admin)).statusCode, 200)
  const head = await app.inject({ method: 'HEAD', url: '/admin', headers: allowed })
  t.equal(head.statusCode, 403, 'HEAD is held to it as well')
})

t.test('a public route identifies no caller, and cannot read it', async (t) => {
  const { app } = await testApp(t, { routes })
  const response = await app.inject({
    url: '/public',
    headers: { authorization: 'Bearer x', cookie: 'guest=x' },
  })
  t.equal(response.body, 'hello')
  t.strictSame(setCookies(response), [])
  t.equal((await app.inject('/careless')).statusCode, 500)
  const unknown = await app.inject({ url: '/nowhere', headers: { authorization: 'Bearer x' } })
  t.equal(unknown.statusCode, 404)
})

t.test('reading the caller of a public route says what to change', async (t) => {
  let message = ''
  const { app } = await testApp(t, {
    routes: (scope) =>
      void scope.get('/careless', { config: { access: 'public' } }, async (request) => {
        try {
          return request.caller.id
        } catch (error) {
          message = (error as Error).message
          return ''
        }
      }),
  })
  await app.inject('/careless')
  t.match(message, /request\.caller .* GET \/careless: give the route config: \{ access: 'caller' \}/)
})

t.test('credentials are checked before the body', async (t) => {
  const { app } = await testApp(t, { routes })
  const request = {
    method: 'POST',
    url: '/echo',
    body: '{',
    headers: { 'content-type': 'application/json' },
  } as const
  t.equal((await app.inject(request)).statusCode, 400)
  const headers = { ...request.headers, authorization: 'Bearer x' }
  t.equal((await app.inject({ ...request, headers })).statusCode, 401)
})

t.test('a known JWT costs no read and no cryptography, a guest token that is known one read', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  const guest = await newGuest(app)
  const authorization = await bearer('ann')
  await app.inject({ url: '/me', headers: { authorization } })
  await app.inject({ url: '/me', headers: { 'guest-token': guest.token } })

  const verify = mock.method(crypto.subtle, 'verify')
  const reads = (['many', 'one', 'maybeOne', 'snapshot', 'transaction'] as const).map((name) =>
    mock.method(storage, name),
  )
  t.teardown(() => mock.restoreAll())
  const count = () => reads.reduce((sum, { mock }) => sum + mock.callCount(), 0)
  await app.inject({ url: '/me', headers: { authorization, 'guest-token': guest.token } })
  t.equal(count(), 0)
  t.equal(verify.mock.callCount(), 0)
  await app.inject({ url: '/me', headers: { 'guest-token': guest.token } })
  t.equal(count(), 1)
})

t.test('many callers at once stay who they are', async (t) => {
  const { app } = await testApp(t, { routes })
  const guests = await Promise.all(Array.from({ length: 8 }, () => newGuest(app)))
  const asked = guests.flatMap(({ token, id }) => [
    { headers: { 'guest-token': token }, id },
    { headers: { cookie: `guest=${token}` }, id },
  ])
  const users = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => ({
      headers: { authorization: await bearer(`u${index}`) },
      id: `user:urn%3Atest%3Aapplication:u${index}`,
    })),
  )
  const all = [...asked, ...users, ...asked, ...users]
  const responses = await Promise.all(
    all.map(({ headers }) => app.inject({ url: '/me', headers: headers as Record<string, string> })),
  )
  t.strictSame(
    responses.map((response) => response.json().id),
    all.map(({ id }) => id),
  )
})

t.test('whether credentials hold is known long after the request', async (t) => {
  const requests: FastifyRequest[] = []
  const { app } = await testApp(t, {
    routes: (app) => {
      app.get('/long', { config: { access: 'caller' } }, async (request) => requests.push(request))
      app.get('/all', { config: { access: 'public' } }, async (request) => requests.push(request))
    },
  })
  const [staying, leaving] = [await newGuest(app), await newGuest(app)]
  const authorization = await bearer('ann')
  for (const headers of [
    { authorization, 'guest-token': leaving.token },
    { 'guest-token': staying.token },
    { cookie: `guest=${staying.token}` },
    { 'guest-token': leaving.token },
    { cookie: `guest=${leaving.token}` },
    {},
    { cookie: 'guest=unknown' },
  ]) {
    t.equal((await app.inject({ url: '/long', headers })).statusCode, 200)
  }
  await app.inject('/all')
  const hold = () => Promise.all(requests.map((request) => request.credentialsHold()))
  t.same(await hold(), [true, true, true, true, true, false, false, false])
  await app.inject({
    method: 'POST',
    url: '/guest/claim',
    headers: { authorization, 'guest-token': leaving.token },
  })
  t.same(await hold(), [true, true, true, false, false, false, false, false])
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 + 30_000 })
  t.teardown(() => mock.timers.reset())
  t.same(await hold(), [false, true, true, false, false, false, false, false])
})

t.test('while an issuer is unreachable its tokens are 503, not 401', async (t) => {
  const requests: FastifyRequest[] = []
  let isAway = false
  const verify = () => {
    if (isAway) throw keysUnavailable()
    return new User('https://login.example', 'ann', [], '{}')
  }
  const { app } = await testApp(t, {
    tokens: { verify } as unknown as TokenVerifier,
    routes: (app) => {
      app.get('/long', { config: { access: 'caller' } }, async (request) => requests.push(request))
    },
  })
  await app.inject({ url: '/long', headers: { authorization: 'Bearer token' } })
  t.equal(await requests[0]?.credentialsHold(), true)
  isAway = true
  await t.rejects(async () => requests[0]?.credentialsHold(), { code: 'issuer-unavailable' })
})
