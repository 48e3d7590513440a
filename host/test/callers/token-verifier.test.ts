import { createHmac } from 'node:crypto'
import { mock } from 'node:test'
import type { RemoteIssuer } from '@mortise/application'
import { type JWTPayload, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'

const issuer = 'urn:app'
const secret = Buffer.alloc(32, 1)
const seconds = () => Math.floor(Date.now() / 1000)
const good = () => ({ iss: issuer, sub: 'ann', exp: seconds() + 3600 })
const verifier = () => createTokenVerifier({ issuers: [{ issuer, secret }] })

function sign(claims: JWTPayload, header: object = {}, key: Uint8Array = secret): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', ...header }).sign(key)
}

/** A JWT of any parts, well signed: jose signs none that is wrong. */
function forge(header: unknown, payload: unknown): string {
  const text = (part: unknown) => (typeof part === 'string' ? part : JSON.stringify(part))
  const signed = [header, payload].map((part) => Buffer.from(text(part)).toString('base64url')).join('.')
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

function refused(t: Test, token: string, reason: RegExp, tokens = verifier()) {
  return t.rejects(
    async () => tokens.verify(token),
    {
      status: 401,
      code: 'unauthorized',
      message: reason,
      headers: { 'www-authenticate': /^Bearer error="invalid_token", error_description="[^"\\]+"$/ },
    },
    String(reason),
  )
}

/** Counts what verifying costs: one call of WebCrypto each. */
function countVerifications(t: Test) {
  const verify = mock.method(crypto.subtle, 'verify')
  t.teardown(() => verify.mock.restore())
  return () => verify.mock.callCount()
}

t.test('a token of the application proves its subject and scopes', async (t) => {
  const user = await verifier().verify(await sign({ ...good(), scope: 'purchase:read  cart:manage' }))
  t.equal(user.id, 'user:urn%3Aapp:ann')
  t.equal(user.kind, 'user')
  t.ok(user.has('purchase:read'))
  t.ok(user.has('cart:manage'))
  t.notOk(user.has('purchase:manage'))
  t.notOk(user.has('admin'))
  t.notOk(user.has(''))
  t.ok(Object.isFrozen(user))
})

t.test('admin has every scope, no scope has none', async (t) => {
  t.ok((await verifier().verify(await sign({ ...good(), scope: 'admin' }))).has('purchase:manage'))
  t.notOk((await verifier().verify(await sign(good()))).has('purchase:read'))
  t.notOk((await verifier().verify(await sign({ ...good(), scope: '' }))).has('purchase:read'))
})

t.test('a link into the console is no bearer token', async (t) => {
  const tokens = verifier()
  const link = await sign({ ...good(), scope: 'sign-in:operator:read sign-in:purchase:read' })
  t.ok((await tokens.prove(link)).user.has('sign-in:operator:read'))
  for (const _ of ['verified', 'cached']) await refused(t, link, /is a link/, tokens)
})

t.test('claims that are missing or wrong are refused', async (t) => {
  const { exp, sub, iss } = good()
  await refused(t, await sign({ iss, sub }), /claim exp/)
  await refused(t, await sign({ iss, exp }), /claim sub/)
  await refused(t, await sign({ sub, exp }), /issuer is unknown/)
  await refused(t, await sign({ iss: 'urn:other', sub, exp }), /issuer is unknown/)
  await refused(t, await sign({ iss: [issuer] as never, sub, exp }), /issuer is unknown|well-formed/)
  await refused(t, await sign({ ...good(), nbf: seconds() + 60 }), /claim nbf/)
  await refused(t, await sign({ ...good(), exp: seconds() - 31 }), /expired/)
  await refused(t, forge({ alg: 'HS256' }, { ...good(), exp: '9999999999' }), /claim exp/)
  await refused(t, await sign({ ...good(), scope: ['admin', 1] }), /claim scope/)
  await refused(t, await sign({ ...good(), scope: null }), /claim scope/)
})

t.test('clocks may differ by 30 seconds', async (t) => {
  await verifier().verify(await sign({ ...good(), exp: seconds() - 25 }))
  await verifier().verify(await sign({ ...good(), nbf: seconds() + 25 }))
  t.pass('both hold')
})

t.test('a subject has 1 to 255 characters without control characters and lone surrogates', async (t) => {
  for (const sub of ['a', 'x'.repeat(255), '😀'.repeat(255), 'a:b', 'ünï %3A']) {
    const user = await verifier().verify(await sign({ ...good(), sub }))
    t.equal(user.id, `user:urn%3Aapp:${sub}`)
    t.ok(user.id.length <= 1024)
  }
  const wrong = [
    '',
    'x'.repeat(256),
    '😀'.repeat(256),
    'a\u0000b',
    'a\nb',
    '\u0085',
    '\ud800',
    7,
    null,
    ['ann'],
  ]
  for (const sub of wrong) await refused(t, forge({ alg: 'HS256' }, { ...good(), sub }), /claim sub/)
})

t.test('another algorithm, signature or header than agreed is refused', async (t) => {
  const [head, body, signature] = (await sign(good())).split('.') as [string, string, string]
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  await refused(t, `${none}.${body}.`, /well-formed/)
  await refused(t, `${none}.${body}.${signature}`, /algorithm/)
  await refused(t, forge({ alg: 'HS512' }, good()), /algorithm/)
  await refused(t, forge({ alg: 'HS256', typ: 'logout+jwt' }, good()), /typ/)
  await refused(t, await sign(good(), {}, Buffer.alloc(32, 2)), /signature/)
  await refused(t, `${head}.${body}.${'A'.repeat(43)}`, /signature/)
  await refused(t, `${head}.${body}.`, /signature|well-formed/)
  await refused(t, forge({ alg: 'HS256', crit: ['exp'], exp: 1 }, good()), /well-formed/)
  await refused(t, forge({ alg: 'HS256', crit: ['b64'], b64: false }, good()), /well-formed/)
  await refused(t, forge({ alg: ['HS256'] }, good()), /well-formed|algorithm/)
})

t.test('strings that are not a JWT are refused', async (t) => {
  const token = await sign(good())
  const wrong = [
    '',
    '.',
    '..',
    'x',
    'a.b.c',
    `${token}.`,
    ` ${token}`,
    `${token} `,
    token.replace('.', '. '),
    token.replace('.', '=.'),
    'null.null.null',
    `${token}.a.b`,
  ]
  for (const text of wrong) await refused(t, text, /well-formed/)
  await refused(t, forge('{', good()), /well-formed/)
  await refused(t, forge({ alg: 'HS256' }, '[]'), /well-formed/)
  await refused(t, forge({ alg: 'HS256' }, 'null'), /well-formed/)
  await refused(t, await sign({ ...good(), filler: 'x'.repeat(4096) }), /longer than 4096/)
})

t.test('each part of a token has one spelling', async (t) => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  // The payload and the header are signed as text: what an issuer would sign so is refused, too.
  const spare = (part: string) => {
    const [last] = part.slice(-1)
    const index = letters.indexOf(last as string)
    return part.length % 4 === 0 ? undefined : part.slice(0, -1) + letters[index + 1]
  }
  const tokens = verifier()
  const token = await sign(good())
  await tokens.verify(token)
  const [head, body, signature] = token.split('.') as [string, string, string]
  await refused(t, `${head}.${body}.${spare(signature)}`, /well-formed/, tokens)
  for (const filler of ['', 'x', 'xx']) {
    const [wide, claims] = [
      { alg: 'HS256', filler },
      { ...good(), filler },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')) as [string, string]
    for (const signed of [`${spare(wide)}.${claims}`, `${wide}.${spare(claims)}`]) {
      if (signed.includes('undefined')) continue
      const mark = createHmac('sha256', secret).update(signed).digest('base64url')
      await refused(t, `${signed}.${mark}`, /well-formed/, tokens)
    }
  }
})

t.test('a scope is never read as several, or as none', async (t) => {
  const user = await verifier().verify(await sign({ ...good(), scp: ['operator:read', 'deploy'] }))
  t.same(user.scopes, ['operator:read', 'deploy'])
  for (const scope of [['operator:read', 'deploy admin'], [' admin'], ['admin\t'], [''], ['"admin"']])
    await refused(t, await sign({ ...good(), scp: scope }), /claim scope/)
  for (const scope of ['admin\tdeploy', 'admin\u00a0deploy', 'größe'])
    await refused(t, await sign({ ...good(), scope }), /claim scope/)
})

t.test('what a token proved is trusted as long as its secret, and no longer', async (t) => {
  const tokens = verifier()
  const { proof } = (await tokens.prove(await sign(good()))).user
  t.notMatch(proof, secret.toString('base64url').slice(0, 8))
  t.equal(await tokens.trusts(proof), true)
  const next = Buffer.alloc(32, 2)
  const after = (until: number) => [{ issuer, secret: next, previousSecrets: [{ secret, until }] }]
  const seen: boolean[] = []
  const ignore = tokens.onReplace(() => seen.push(true))
  tokens.replace(after(Date.now() + 60_000))
  t.equal(await tokens.trusts(proof), true, 'while the previous secret verifies')
  tokens.replace(after(Date.now()))
  t.equal(await tokens.trusts(proof), false, 'at once, when it does not')
  ignore()
  tokens.replace([{ issuer: 'urn:renamed', secret }])
  t.equal(await tokens.trusts(proof), false, 'of another issuer')
  t.equal(seen.length, 2)
})

t.test('what a new secret proved is trusted by a host that has not read it yet', async (t) => {
  const next = Buffer.alloc(32, 2)
  const tokens = createTokenVerifier({
    issuers: [{ issuer, secret }],
    onWrongSignature: async () => {
      tokens.replace([{ issuer, secret: next }])
      return true
    },
  })
  const other = createTokenVerifier({ issuers: [{ issuer, secret: next }] })
  const { proof } = (await other.prove(await sign(good(), {}, next))).user
  t.equal(await tokens.trusts(proof), true)
})

t.test('concurrent and repeated uses of a token cause one verification', async (t) => {
  const verifications = countVerifications(t)
  const tokens = verifier()
  const token = await sign(good())
  const users = await Promise.all(Array.from({ length: 32 }, async () => tokens.verify(token)))
  t.equal(verifications(), 1)
  const again = tokens.verify(token)
  t.notOk(again instanceof Promise, 'a known token is settled at once')
  t.ok(users.every((user) => user === again))
  t.equal(verifications(), 1)
  await tokens.verify(await sign({ ...good(), sub: 'bob' }))
  t.equal(verifications(), 2)
})

t.test('a refusal never replaces a stored response and is not stored', async (t) => {
  const verifications = countVerifications(t)
  const tokens = verifier()
  const bad = await sign(good(), {}, Buffer.alloc(32, 2))
  await Promise.all(Array.from({ length: 8 }, () => refused(t, bad, /signature/, tokens)))
  t.equal(verifications(), 1, 'those at once share one verification')
  await refused(t, bad, /signature/, tokens)
  t.equal(verifications(), 2)
  await Promise.all([refused(t, 'x', /well-formed/, tokens), refused(t, 'x', /well-formed/, tokens)])
  await refused(t, 'x', /well-formed/, tokens)
})

t.test('a remembered token expires with its tolerance', async (t) => {
  const tokens = verifier()
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
  const exp = seconds() + 60
  const token = await sign({ ...good(), exp })
  await tokens.verify(token)
  mock.timers.setTime((exp + 30) * 1000 - 1)
  t.equal((await tokens.verify(token)).id, 'user:urn%3Aapp:ann')
  mock.timers.setTime((exp + 30) * 1000)
  await refused(t, token, /expired/, tokens)
})

t.test('the memory for tokens is bounded', async (t) => {
  const verifications = countVerifications(t)
  const tokens = verifier()
  const long = (index: number) => sign({ ...good(), sub: `user-${index}`, filler: 'x'.repeat(2900) })
  const first = await long(0)
  await tokens.verify(first)
  for (let index = 1; index <= 2200; index += 1) await tokens.verify(await long(index))
  const before = verifications()
  await tokens.verify(first)
  t.equal(verifications(), before + 1, 'the oldest is forgotten')
})

t.test('an unsafe configuration is refused', (t) => {
  const remote: RemoteIssuer = {
    issuer: 'urn:b',
    jwksUri: 'https://b.example/jwks',
    audience: 'us',
    algorithms: ['RS256'],
  }
  const wrong: [object[], RegExp][] = [
    [[{ issuer, secret: Buffer.alloc(31) }], /31 bytes/],
    [[{ issuer: '', secret }], /1 to 500/],
    [[{ issuer: 'x'.repeat(501), secret }], /1 to 500/],
    [
      [
        { issuer, secret },
        { ...remote, issuer },
      ],
      /"urn:app" is configured twice/,
    ],
    [[{ ...remote, algorithms: [] }], /algorithms/],
    [[{ ...remote, algorithms: ['HS256'] }], /algorithms/],
    [[{ ...remote, algorithms: ['RS256', 'none'] }], /algorithms/],
    [[{ ...remote, audience: '' }], /audience/],
    [[{ ...remote, jwksUri: 'http://b.example/jwks' }], /use https/],
    [[{ ...remote, jwksUri: 'http://127.0.0.1.b.example/jwks' }], /use https/],
    [[{ ...remote, jwksUri: 'file:///etc/jwks' }], /use https/],
  ]
  for (const [issuers, message] of wrong) {
    t.throws(() => createTokenVerifier({ issuers: issuers as never }), { name: 'TypeError', message })
  }
  createTokenVerifier({ issuers: [{ issuer, secret }, remote] })
  t.end()
})
