import { createSign } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { mock } from 'node:test'
import { SignJWT } from 'jose'
import t from 'tap'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import {
  atTime,
  audience,
  ec,
  good,
  jwks,
  keyServer,
  refused,
  rsa,
  seconds,
  sign,
  unavailable,
  verifierFor,
} from './remote-issuer.ts'

const first = rsa('first')
const second = rsa('second')
const curve = ec('curve')

t.test('RS256 and ES256 tokens of a configured issuer are valid, with one fetch for all', async (t) => {
  const server = await keyServer(t, jwks(first, curve))
  const tokens = verifierFor(server.uri, { algorithms: ['RS256', 'ES256'] })
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

t.test('a known token needs neither a fetch nor a verification', async (t) => {
  const server = await keyServer(t, jwks(first))
  const verify = mock.method(crypto.subtle, 'verify')
  t.teardown(() => verify.mock.restore())
  const tokens = verifierFor(server.uri)
  const token = await sign(first)
  const users = await Promise.all(Array.from({ length: 8 }, async () => tokens.verify(token)))
  t.equal(tokens.verify(token), users[0])
  t.equal(verify.mock.callCount(), 1)
  t.equal(server.requests, 1)
})

t.test('iss, aud, exp and sub are needed, and must be right', async (t) => {
  const server = await keyServer(t, jwks(first))
  const tokens = verifierFor(server.uri)
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

t.test('two issuers share neither subjects nor keys', async (t) => {
  const [ours, theirs] = [await keyServer(t, jwks(first)), await keyServer(t, jwks(second))]
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

t.test('a clock that goes backwards does not keep old keys in use', async (t) => {
  const clock = atTime(t)
  const server = await keyServer(t, jwks(first))
  const tokens = verifierFor(server.uri)
  const claims = { ...good(), exp: seconds() + 100_000 }
  clock.jump(7_200_000)
  const token = await sign(first, claims)
  await tokens.verify(token)
  clock.jump(-7_200_000)
  server.response = jwks(second)
  clock.pass(600_000)
  await refused(t, tokens, token, /does not have its key/)
  t.equal((await tokens.verify(await sign(second, claims))).kind, 'user')
})

t.test('a new key is found five seconds after the last lookup', async (t) => {
  const clock = atTime(t)
  const server = await keyServer(t, jwks(first))
  const tokens = verifierFor(server.uri)
  await tokens.verify(await sign(first))
  server.response = jwks(first, second)
  const token = await sign(second)
  clock.pass(4_999)
  await refused(t, tokens, token, /does not have its key/)
  t.equal(server.requests, 1)
  clock.pass(1)
  t.equal((await tokens.verify(token)).kind, 'user')
  t.equal(server.requests, 2)
})

t.test(
  'a key that was looked for and is not there is refused until the next look is due, which finds it',
  async (t) => {
    const clock = atTime(t)
    const server = await keyServer(t, jwks(first))
    const tokens = verifierFor(server.uri)
    const token = await sign(second)
    await refused(t, tokens, token, /does not have its key/)
    clock.pass(4_999)
    await refused(t, tokens, token, /does not have its key/)
    t.equal(server.requests, 1)
    clock.pass(1)
    await refused(t, tokens, token, /does not have its key/)
    t.equal(server.requests, 2)
    clock.pass(5_000)
    server.response = (request) => void request.socket.destroy()
    await unavailable(t, tokens, token, 5)
    await unavailable(t, tokens, token, 5)
    t.equal(server.requests, 3)
    clock.pass(5_000)
    server.response = jwks(first, second)
    t.equal((await tokens.verify(token)).kind, 'user')
    t.equal(server.requests, 4)
  },
)

t.test('an invalid key id is an unknown key, not a failure of the issuer', async (t) => {
  const clock = atTime(t)
  const server = await keyServer(t, jwks(first))
  const tokens = verifierFor(server.uri)
  for (const kid of [1, null, ['first'], { toString: 1 }, '', 'x'.repeat(2000)]) {
    const token = await sign(first, good(), { kid })
    await refused(t, tokens, token, /does not have its key/)
    clock.pass(5_000)
  }
  t.same(tokens.logged, [])
})

t.test(
  'a flood of invented key ids causes one lookup per five seconds, and a new key waits no longer',
  async (t) => {
    const clock = atTime(t)
    const server = await keyServer(t, jwks(first))
    const tokens = verifierFor(server.uri)
    const known = await sign(first)
    await tokens.verify(known)
    const statuses = new Map<number, number>()
    const flood = async (count: number) => {
      await Promise.all(
        Array.from({ length: count }, async () => {
          const error = await Promise.resolve(sign(second, good(), { kid: crypto.randomUUID() }))
            .then((token) => tokens.verify(token))
            .then(
              () => ({ status: 200 }),
              (error) => error,
            )
          statuses.set(error.status, (statuses.get(error.status) ?? 0) + 1)
        }),
      )
    }
    await flood(500)
    t.equal(server.requests, 1)
    server.response = jwks(first, second)
    clock.pass(2_000)
    const token = await sign(second)
    await flood(500)
    clock.pass(3_000)
    await flood(100)
    t.equal((await tokens.verify(token)).kind, 'user', 'no matter which caller caused the look')
    t.equal(server.requests, 2)
    for (let round = 0; round < 20; round += 1) {
      clock.pass(1_000)
      await flood(20)
    }
    t.equal(server.requests, 2 + 4)
    t.notOk(statuses.has(200))
    t.equal((await tokens.verify(await sign(first, { ...good(), sub: 'bob' }))).kind, 'user')
    t.same(tokens.logged, [])
  },
)

t.test('keys are read again before they are too old, and serve while the issuer is away', async (t) => {
  const clock = atTime(t)
  const server = await keyServer(t, jwks(first))
  const tokens = verifierFor(server.uri)
  const of = (sub: string, pair = first) => sign(pair, { ...good(), exp: seconds() + 7200, sub })
  await tokens.verify(await of('a'))
  clock.pass(299_999)
  await tokens.verify(await of('b'))
  t.equal(server.requests, 1)

  const gone = Promise.withResolvers<void>()
  server.response = (request) => {
    request.socket.destroy()
    gone.resolve()
  }
  clock.pass(1)
  t.equal((await tokens.verify(await of('c'))).kind, 'user')
  await gone.promise
  clock.pass(299_999)
  t.equal((await tokens.verify(await of('d'))).kind, 'user')
  clock.pass(5_000)
  await unavailable(t, tokens, await of('e'))
  await unavailable(t, tokens, await of('f'))

  server.response = jwks(second)
  await unavailable(t, tokens, await of('g'))
  clock.pass(5_000)
  t.equal((await tokens.verify(await of('h', second))).kind, 'user')
  await refused(t, tokens, await of('i'), /does not have its key/)
  const about = { url: server.uri }
  t.match(
    tokens.logged,
    [
      ['warn', { ...about, err: Error }, 'cannot read the keys of a token issuer'],
      ['info', about, 'the keys of a token issuer can be read again'],
    ],
    'a line for the outage, not one for each request or look',
  )
  t.equal(tokens.logged.length, 2)
})

t.test(
  'a token of a withdrawn key is believed for as long as the keys are kept, not until it expires',
  async (t) => {
    const clock = atTime(t)
    const server = await keyServer(t, jwks(first))
    const tokens = verifierFor(server.uri)
    const token = await sign(first)
    await tokens.verify(token)
    server.response = jwks(second)
    clock.pass(599_999)
    await tokens.verify(token)
    clock.pass(1)
    await refused(t, tokens, token, /does not have its key/)
  },
)

t.test('a token without kid is valid if the issuer has one key', async (t) => {
  const server = await keyServer(t, jwks(first))
  const token = await sign(first, good(), { kid: undefined })
  t.equal((await verifierFor(server.uri).verify(token)).kind, 'user')
  server.response = jwks(first, second)
  await refused(t, verifierFor(server.uri), token, /must name its key/)
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
    for (const [name, response] of failures) {
      await t.test(name, async (t) => {
        const server = await keyServer(t, response)
        const tokens = verifierFor(server.uri)
        await unavailable(t, tokens, token)
        const knocked = server.requests
        await unavailable(t, tokens, await sign(first, { ...good(), sub: 'bob' }))
        t.equal(server.requests, knocked)
        server.response = jwks(first)
        clock.pass(5_000)
        t.equal((await tokens.verify(token)).kind, 'user')
      })
    }
    await t.test('no keys in it', async (t) => {
      const server = await keyServer(t, '{"keys":"none"}')
      await unavailable(t, verifierFor(server.uri), token)
    })
    await t.test('no host listens', async (t) => {
      await unavailable(t, verifierFor('http://127.0.0.1:1/jwks'), token)
    })
  },
)

t.test('known keys stay in use when the issuer fails', async (t) => {
  const clock = atTime(t)
  const server = await keyServer(t, jwks(first))
  const tokens = verifierFor(server.uri)
  await tokens.verify(await sign(first))
  clock.pass(30_000)
  server.response = (request) => void request.socket.destroy()
  await unavailable(t, tokens, await sign(second))
  t.equal((await tokens.verify(await sign(first, { ...good(), sub: 'bob' }))).kind, 'user')
})

t.test('a request to a silent issuer ends after 5 seconds', async (t) => {
  const timeouts = mock.method(AbortSignal, 'timeout', (milliseconds: number) => {
    t.equal(milliseconds, 5_000)
    return AbortSignal.abort(new DOMException('timed out', 'TimeoutError'))
  })
  t.teardown(() => timeouts.mock.restore())
  const server = await keyServer(t, () => {})
  await unavailable(t, verifierFor(server.uri), await sign(first))
  t.equal(timeouts.mock.callCount(), 1)
})

t.test(
  'a key that is too weak to be used is the fault of the issuer, and logged once a minute',
  async (t) => {
    const weak = rsa('weak', 'RS256', 1024)
    const server = await keyServer(t, jwks(weak))
    const tokens = verifierFor(server.uri)
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${part({ alg: 'RS256', kid: 'weak' })}.${part(good())}`
    const signature = createSign('RSA-SHA256').update(text).sign(weak.privateKey).toString('base64url')
    await unavailable(t, tokens, `${text}.${signature}`)
    await unavailable(t, tokens, `${text}.${signature}`)
    t.match(tokens.logged, [['warn', { err: { message: /2048/ }, url: server.uri }, /cannot use a key/]])
    t.equal(tokens.logged.length, 1)
  },
)
