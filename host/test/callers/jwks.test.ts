import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import { type JWTPayload, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { createTokenVerifier, type TokenVerifier } from '../../src/callers/tokens.ts'

const issuer = 'https://login.example/'
const audience = 'shop'
const seconds = () => Math.floor(Date.now() / 1000)
const good = () => ({ iss: issuer, aud: audience, sub: 'ann', exp: seconds() + 7200 })

interface Pair {
  readonly kid: string
  readonly alg: 'RS256' | 'ES256'
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const rsa = (kid: string): Pair => ({
  kid,
  alg: 'RS256',
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
})
const ec = (kid: string): Pair => ({
  kid,
  alg: 'ES256',
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
})
const first = rsa('first')
const second = rsa('second')
const curve = ec('curve')

function sign(pair: Pair, claims: JWTPayload = good(), header: object = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: pair.alg, kid: pair.kid, ...header })
    .sign(pair.privateKey)
}

function jwks(...pairs: Pair[]): string {
  return JSON.stringify({
    keys: pairs.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' })),
  })
}

/** A server on loopback whose answer can be changed, and which counts what it is asked. */
async function jwksServer(t: Test, answer: string | RequestListener) {
  const state = { answer, requests: 0 }
  const server = createServer((request, response) => {
    state.requests += 1
    if (typeof state.answer === 'string') response.end(state.answer)
    else state.answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(state, { uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks` })
}

function verifierFor(jwksUri: string, ...algorithms: ('RS256' | 'ES256')[]): TokenVerifier {
  return createTokenVerifier({ issuers: [{ issuer, jwksUri, audience, algorithms }] })
}

const refused = (t: Test, tokens: TokenVerifier, token: string, message: RegExp) =>
  t.rejects(async () => tokens.verify(token), { status: 401, code: 'unauthorized', message }, String(message))

const unavailable = (t: Test, tokens: TokenVerifier, token: string) =>
  t.rejects(async () => tokens.verify(token), {
    status: 503,
    message: /keys of the issuer/,
    headers: { 'retry-after': '5' },
  })

function atTime(t: Test): { pass(milliseconds: number): void; jump(milliseconds: number): void } {
  let now = Date.now()
  let passed = 0
  mock.timers.enable({ apis: ['Date'], now })
  const { now: real } = performance
  const clock = mock.method(performance, 'now', () => real.call(performance) + passed)
  t.teardown(() => {
    mock.timers.reset()
    clock.mock.restore()
  })
  const jump = (milliseconds: number) => {
    now += milliseconds
    mock.timers.setTime(now)
  }
  return {
    jump,
    pass(milliseconds) {
      passed += milliseconds
      jump(milliseconds)
    },
  }
}

t.test('RS256 and ES256 tokens of a configured issuer hold, with one fetch for all', async (t) => {
  const server = await jwksServer(t, jwks(first, curve))
  const tokens = verifierFor(server.uri, 'RS256', 'ES256')
  const users = await Promise.all([
    tokens.verify(await sign(first, { ...good(), aud: ['else', audience], scope: 'purchase:read' })),
    tokens.verify(await sign(curve, { ...good(), sub: 'bob' })),
  ])
  t.strictSame(
    users.map((user) => user.id),
    ['user:https%3A%2F%2Flogin.example%2F:ann', 'user:https%3A%2F%2Flogin.example%2F:bob'],
  )
  t.ok(users[0].has('purchase:read'))
  t.equal(server.requests, 1)
})

t.test('a token seen before costs neither a fetch nor a verification', async (t) => {
  const server = await jwksServer(t, jwks(first))
  const verify = mock.method(crypto.subtle, 'verify')
  t.teardown(() => verify.mock.restore())
  const tokens = verifierFor(server.uri, 'RS256')
  const token = await sign(first)
  const users = await Promise.all(Array.from({ length: 8 }, async () => tokens.verify(token)))
  t.equal(tokens.verify(token), users[0])
  t.equal(verify.mock.callCount(), 1)
  t.equal(server.requests, 1)
})

t.test('iss, aud, exp and sub are needed, and must be right', async (t) => {
  const server = await jwksServer(t, jwks(first))
  const tokens = verifierFor(server.uri, 'RS256')
  const { iss, aud, sub, exp } = good()
  await refused(t, tokens, await sign(first, { iss, sub, exp }), /claim aud/)
  await refused(t, tokens, await sign(first, { iss, sub, exp, aud: 'else' }), /claim aud/)
  await refused(t, tokens, await sign(first, { iss, sub, exp, aud: [] }), /claim aud/)
  await refused(t, tokens, await sign(first, { iss, aud, sub }), /claim exp/)
  await refused(t, tokens, await sign(first, { iss, aud, exp }), /claim sub/)
  await refused(t, tokens, await sign(first, { aud, sub, exp }), /issuer/)
  await refused(t, tokens, await sign(first, { ...good(), iss: 'https://login.example' }), /issuer/)
  await refused(t, tokens, await sign(first, { ...good(), exp: seconds() - 31 }), /expired/)
  await refused(t, tokens, await sign(first, { ...good(), nbf: seconds() + 60 }), /claim nbf/)
})

t.test('an algorithm outside the fixed set is refused before any key is fetched', async (t) => {
  const server = await jwksServer(t, jwks(first, curve))
  const tokens = verifierFor(server.uri, 'RS256')
  await refused(t, tokens, await sign(curve), /algorithm/)

  const [, body] = (await sign(first)).split('.')
  const signed = `${Buffer.from('{"alg":"HS256","kid":"first"}').toString('base64url')}.${body}`
  for (const key of [
    first.publicKey.export({ type: 'spki', format: 'pem' }),
    first.publicKey.export({ type: 'spki', format: 'der' }),
    jwks(first),
  ]) {
    const signature = createHmac('sha256', key).update(signed).digest('base64url')
    await refused(t, tokens, `${signed}.${signature}`, /algorithm/)
  }
  t.equal(server.requests, 0)
})

t.test("two issuers' subjects never meet, nor do their keys", async (t) => {
  const [ours, theirs] = [await jwksServer(t, jwks(first)), await jwksServer(t, jwks(second))]
  const secret = Buffer.alloc(32, 1)
  const tokens = createTokenVerifier({
    issuers: [
      { issuer: 'urn:own', secret },
      { issuer: 'urn:a', jwksUri: ours.uri, audience, algorithms: ['RS256'] },
      { issuer: 'urn:a:', jwksUri: theirs.uri, audience, algorithms: ['RS256'] },
    ],
  })
  const as = (iss: string, sub: string) => ({ ...good(), iss, sub })
  const one = await tokens.verify(await sign(first, as('urn:a', ':ann')))
  const other = await tokens.verify(await sign(second, as('urn:a:', 'ann')))
  t.not(one.id, other.id)
  await refused(t, tokens, await sign(second, as('urn:a', 'ann'), { kid: 'first' }), /signature/)
  await refused(t, tokens, await sign(first, as('urn:own', 'ann')), /algorithm/)
  const own = await new SignJWT(as('urn:a', 'ann')).setProtectedHeader({ alg: 'HS256' }).sign(secret)
  await refused(t, tokens, own, /algorithm/)
})

t.test('a clock that is put back keeps no old keys in use', async (t) => {
  const clock = atTime(t)
  const server = await jwksServer(t, jwks(first))
  const tokens = verifierFor(server.uri, 'RS256')
  const claims = { ...good(), exp: seconds() + 100_000 }
  clock.jump(7_200_000)
  const token = await sign(first, claims)
  await tokens.verify(token)
  clock.jump(-7_200_000)
  server.answer = jwks(second)
  await tokens.verify(await sign(second, claims))
  clock.pass(600_000)
  await refused(t, tokens, token, /no such key/)
})

t.test('an unknown key makes one fetch, however many tokens name one', async (t) => {
  const clock = atTime(t)
  const server = await jwksServer(t, jwks(first))
  const tokens = verifierFor(server.uri, 'RS256')
  await tokens.verify(await sign(first))
  await refused(t, tokens, await sign(second), /no such key/)
  t.equal(server.requests, 1, 'the keys have only just been fetched')

  clock.pass(30_000)
  server.answer = jwks(first, second)
  t.equal((await tokens.verify(await sign(second))).kind, 'user')
  t.equal(server.requests, 2)
  await refused(t, tokens, await sign(rsa('third')), /no such key/)
  await refused(t, tokens, await sign(rsa('fourth')), /no such key/)
  t.equal(server.requests, 2)
})

t.test(
  'a token of a withdrawn key is believed for as long as the keys are kept, not until it expires',
  async (t) => {
    const clock = atTime(t)
    const server = await jwksServer(t, jwks(first))
    const tokens = verifierFor(server.uri, 'RS256')
    const token = await sign(first)
    await tokens.verify(token)
    server.answer = jwks(second)
    clock.pass(599_999)
    await tokens.verify(token)
    clock.pass(1)
    await refused(t, tokens, token, /no such key/)
  },
)

t.test('a token without kid holds where the issuer has one key', async (t) => {
  const server = await jwksServer(t, jwks(first))
  const token = await sign(first, good(), { kid: undefined })
  t.equal((await verifierFor(server.uri, 'RS256').verify(token)).kind, 'user')
  server.answer = jwks(first, second)
  await refused(t, verifierFor(server.uri, 'RS256'), token, /must name its key/)
})

t.test(
  'keys that cannot be had are not the fault of the token: 503, and knocked for once a while',
  async (t) => {
    const clock = atTime(t)
    const token = await sign(first)
    const failures: [string, string | RequestListener][] = [
      ['500', (_request, response) => void response.writeHead(500).end('{"keys":[]}')],
      [
        'a redirect',
        (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1/' }).end(),
      ],
      ['no JSON', '<html>'],
      ['a broken connection', (request) => void request.socket.destroy()],
    ]
    for (const [name, answer] of failures) {
      await t.test(name, async (t) => {
        const server = await jwksServer(t, answer)
        const tokens = verifierFor(server.uri, 'RS256')
        await unavailable(t, tokens, token)
        const knocked = server.requests
        await unavailable(t, tokens, await sign(first, { ...good(), sub: 'bob' }))
        t.equal(server.requests, knocked)
        server.answer = jwks(first)
        clock.pass(5_000)
        t.equal((await tokens.verify(token)).kind, 'user')
      })
    }
    await t.test('no keys in it', async (t) => {
      const server = await jwksServer(t, '{"keys":"none"}')
      await unavailable(t, verifierFor(server.uri, 'RS256'), token)
    })
    await t.test('nobody listening', async (t) => {
      await unavailable(t, verifierFor('http://127.0.0.1:1/jwks', 'RS256'), token)
    })
  },
)

t.test('an issuer that fails later leaves the keys that are here in use', async (t) => {
  const clock = atTime(t)
  const server = await jwksServer(t, jwks(first))
  const tokens = verifierFor(server.uri, 'RS256')
  await tokens.verify(await sign(first))
  clock.pass(30_000)
  server.answer = (request) => void request.socket.destroy()
  await unavailable(t, tokens, await sign(second))
  t.equal((await tokens.verify(await sign(first, { ...good(), sub: 'bob' }))).kind, 'user')
})

t.test('an issuer that does not answer is given up after 5 seconds', async (t) => {
  const timeouts = mock.method(AbortSignal, 'timeout', (milliseconds: number) => {
    t.equal(milliseconds, 5_000)
    return AbortSignal.abort(new DOMException('timed out', 'TimeoutError'))
  })
  t.teardown(() => timeouts.mock.restore())
  const server = await jwksServer(t, () => {})
  await unavailable(t, verifierFor(server.uri, 'RS256'), await sign(first))
  t.equal(timeouts.mock.callCount(), 1)
})

t.test('a failure is logged with its cause', async (t) => {
  const server = await jwksServer(t, 'no JSON')
  const logged: unknown[] = []
  const log = { warn: (...entry: unknown[]) => logged.push(entry) } as never
  const issuers = [{ issuer, jwksUri: server.uri, audience, algorithms: ['RS256'] }] as const
  await unavailable(t, createTokenVerifier({ issuers, log }), await sign(first))
  t.match(logged, [[{ err: Error, url: server.uri }, /keys of a token issuer/]])
})

t.test(
  'a key that is too weak to be used is the fault of the issuer, and logged once a minute',
  async (t) => {
    const weak: Pair = { kid: 'weak', alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 1024 }) }
    const server = await jwksServer(t, jwks(weak))
    const logged: unknown[] = []
    const log = { warn: (...entry: unknown[]) => logged.push(entry) } as never
    const issuers = [{ issuer, jwksUri: server.uri, audience, algorithms: ['RS256' as const] }]
    const tokens = createTokenVerifier({ issuers, log })
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${part({ alg: 'RS256', kid: 'weak' })}.${part(good())}`
    const signature = createSign('RSA-SHA256').update(text).sign(weak.privateKey).toString('base64url')
    await unavailable(t, tokens, `${text}.${signature}`)
    await unavailable(t, tokens, `${text}.${signature}`)
    t.match(logged, [[{ err: { message: /2048/ }, url: server.uri }, /cannot be used/]])
    t.equal(logged.length, 1)
  },
)
