import { createHmac } from 'node:crypto'
import { type RemoteIssuer, signingAlgorithms } from '@mortise/application'
import t from 'tap'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import {
  ec,
  ed,
  good,
  jwks,
  keyServer,
  type Pair,
  refused,
  rsa,
  sign,
  unavailable,
  verifierFor,
} from './remote-issuer.ts'

const rs = rsa('rs')
const ps = rsa('ps', 'PS256')
const es = ec('es')
const edwards = ed('ed')
const pairs = [rs, ps, es, edwards]

const another = ({ alg }: Pair) => (alg === 'ES256' ? ec('es') : alg === 'EdDSA' ? ed('ed') : rsa('rs'))

for (const pair of pairs) {
  t.test(`tokens of an issuer with ${pair.alg} are valid with that algorithm only`, async (t) => {
    const server = await keyServer(t, jwks(...pairs))
    const tokens = verifierFor(server.uri, { algorithms: [pair.alg] })
    for (const other of pairs) {
      if (other !== pair) await refused(t, tokens, await sign(other), /algorithm/)
    }
    t.equal(server.requests, 0, 'no key is fetched for an algorithm outside the set')
    t.equal((await tokens.verify(await sign(pair))).kind, 'user')
    const { kid, alg } = pair
    await refused(t, tokens, await sign({ ...another(pair), kid, alg }), /signature/)
  })
}

t.test('an algorithm that uses the same key, another kind of key, or none is refused', async (t) => {
  const server = await keyServer(t, jwks(rs, es))
  const tokens = verifierFor(server.uri, { algorithms: ['RS256'] })
  await refused(t, tokens, await sign({ ...rs, alg: 'PS256' }), /algorithm/)
  await refused(t, tokens, await sign(rs, good(), { alg: 'RS512' }), /algorithm/)

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const publicKeys = [
    rs.publicKey.export({ type: 'spki', format: 'pem' }),
    rs.publicKey.export({ type: 'spki', format: 'der' }),
    rs.publicKey.export({ type: 'pkcs1', format: 'pem' }),
    jwks(rs),
  ]
  for (const key of publicKeys) {
    const signed = `${part({ alg: 'HS256', kid: 'rs' })}.${part(good())}`
    const signature = createHmac('sha256', key).update(signed).digest('base64url')
    await refused(t, tokens, `${signed}.${signature}`, /algorithm/)
  }
  const [, , signature] = (await sign(rs)).split('.')
  for (const alg of ['none', 'None', 'rs256', '']) {
    await refused(t, tokens, `${part({ alg, kid: 'rs' })}.${part(good())}.${signature}`, /algorithm|JWT/)
    await refused(t, tokens, `${part({ alg, kid: 'rs' })}.${part(good())}.`, /well-formed/)
  }
  t.equal(server.requests, 0)
})

t.test('Ed25519 is accepted under both of its names', async (t) => {
  const server = await keyServer(t, jwks(edwards))
  const tokens = verifierFor(server.uri, { algorithms: ['EdDSA'] })
  t.equal((await tokens.verify(await sign(edwards, good(), { alg: 'Ed25519' }))).kind, 'user')
})

t.test('a key set with a private key is refused as an issuer failure', async (t) => {
  const key = { ...rs.privateKey.export({ format: 'jwk' }), kid: rs.kid }
  const server = await keyServer(t, JSON.stringify({ keys: [key] }))
  const tokens = verifierFor(server.uri)
  await unavailable(t, tokens, await sign(rs))
  t.match(tokens.logged, [['warn', { err: { message: /public keys/ } }, /cannot use a key/]])
})

t.test('the type of a token is that of an access token, or the usual one that says nothing', async (t) => {
  const server = await keyServer(t, jwks(rs))
  const usual = [undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+jwt']
  const others = [
    'logout+jwt',
    'dpop+jwt',
    'secevent+jwt',
    'application/logout+jwt',
    'kb+jwt',
    'text/at+jwt',
    'application/x/at+jwt',
    'application/application/at+jwt',
    'JOSE',
    '',
    7,
    null,
    ['JWT'],
  ]
  const tokens = verifierFor(server.uri)
  for (const typ of others) await refused(t, tokens, await sign(rs, good(), { typ }), /typ|well-formed/)
  t.equal(server.requests, 0, 'no key is fetched for it')
  for (const typ of usual) t.equal((await tokens.verify(await sign(rs, good(), { typ }))).kind, 'user')

  const strict = verifierFor(server.uri, { typ: 'application/AT+jwt' })
  for (const typ of usual.slice(3))
    t.equal((await strict.verify(await sign(rs, good(), { typ }))).kind, 'user')
  for (const typ of [...usual.slice(0, 3), ...others])
    await refused(t, strict, await sign(rs, good(), { typ }), /typ|well-formed/)

  const own = verifierFor(server.uri, { typ: 'okta-internal-at+jwt' })
  const special = await sign(rs, good(), { typ: 'application/okta-internal-at+jwt' })
  t.equal((await own.verify(special)).kind, 'user')
})

t.test('a logout token without a type is refused by its events', async (t) => {
  const server = await keyServer(t, jwks(rs))
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  await refused(t, verifierFor(server.uri), await sign(rs, { ...good(), events }), /security event/)
})

t.test('every algorithm that the configuration offers is tried here', async (t) => {
  t.same(
    pairs.map(({ alg }) => alg),
    signingAlgorithms,
  )
})

t.test('unsafe issuers are refused by name', async (t) => {
  const remote: RemoteIssuer = { issuer: 'https://b.example', audience: 'us', algorithms: ['RS256'] }
  createTokenVerifier({ issuers: [remote] })
  createTokenVerifier({ issuers: [{ ...remote, issuer: 'http://127.0.0.1:8080/realms/shop' }] })
  const wrong: [object, RegExp][] = [
    [{ issuer: 'urn:b' }, /"urn:b" needs a "jwksUri"/],
    [{ issuer: 'http://b.example' }, /needs a "jwksUri"/],
    [{ issuer: 'https://b.example/?tenant=1' }, /needs a "jwksUri"/],
    [{ issuer: 'https://b.example/#' }, /needs a "jwksUri"/],
    [{ claims: { scope: 'roles' } }, /needs "scopes".+claim roles/],
  ]
  for (const [rules, message] of wrong) {
    t.throws(() => createTokenVerifier({ issuers: [{ ...remote, ...rules }] }), {
      name: 'TypeError',
      message,
    })
  }
})
