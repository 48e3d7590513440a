import t, { type Test } from 'tap'
import { jwks, keyServer, refused, rsa, sign, unavailable, verifierFor } from './remote-issuer.ts'

const first = rsa('first')

/** An issuer on loopback, whose metadata are at their usual place. */
async function discovered(t: Test, path: string, metadata: (origin: string) => unknown) {
  const server = await keyServer(t, (request, response) => {
    if (request.url === '/jwks') response.end(jwks(first))
    else if (request.url === `${path.replace(/\/$/, '')}/.well-known/openid-configuration`)
      response.end(JSON.stringify(metadata(server.origin)))
    else response.writeHead(404).end('{}')
  })
  const issuer = `${server.origin}${path}`
  const tokens = verifierFor(server.uri, { issuer, jwksUri: undefined } as never)
  const token = (iss = issuer) =>
    sign(first, { iss, aud: 'shop', sub: 'ann', exp: Math.ceil(Date.now() / 1000) + 60 })
  return { server, issuer, tokens, token }
}

for (const path of ['', '/', '/realms/shop', '/tenant/']) {
  t.test(`without a jwksUri the metadata of the issuer name it: ${path || 'no path'}`, async (t) => {
    const { server, tokens, token } = await discovered(t, path, (origin) => ({
      issuer: `${origin}${path}`,
      jwks_uri: `${origin}/jwks`,
      id_token_signing_alg_values_supported: ['none', 'HS256'],
    }))
    t.equal((await tokens.verify(await token())).kind, 'user')
    await tokens.verify(await token())
    t.equal(server.requests, 2)
    await refused(t, tokens, await token('https://else.example/'), /issuer is unknown/)
  })
}

t.test('metadata that are not those of the issuer, or lead astray, bring no keys', async (t) => {
  const wrong: [string, (origin: string) => unknown][] = [
    ['another issuer', (origin) => ({ issuer: 'https://else.example', jwks_uri: `${origin}/jwks` })],
    ['a slash more', (origin) => ({ issuer: `${origin}/`, jwks_uri: `${origin}/jwks` })],
    ['no issuer', (origin) => ({ jwks_uri: `${origin}/jwks` })],
    ['no keys', (origin) => ({ issuer: origin })],
    ['keys over http', (origin) => ({ issuer: origin, jwks_uri: 'http://login.example/jwks' })],
    ['keys in a file', (origin) => ({ issuer: origin, jwks_uri: 'file:///etc/passwd' })],
    ['keys that are no text', (origin) => ({ issuer: origin, jwks_uri: [`${origin}/jwks`] })],
    ['null', () => null],
  ]
  for (const [name, metadata] of wrong) {
    await t.test(name, async (t) => {
      const { server, tokens, token } = await discovered(t, '', metadata)
      await unavailable(t, tokens, await token())
      await unavailable(t, tokens, await token())
      t.equal(server.requests, 1)
      t.match(tokens.logged, [
        ['warn', { err: { message: /openid-configuration/ } }, /cannot read the keys of a token issuer/],
      ])
      t.equal(tokens.logged.length, 1)
    })
  }
})

t.test('key sets follow no redirect and have a maximum size', async (t) => {
  const set = JSON.parse(jwks(first))
  const token = await sign(first)
  const long = (size: number) => JSON.stringify({ ...set, more: 'x'.repeat(size) })
  const server = await keyServer(t, long(200 * 1024))
  t.equal((await verifierFor(server.uri).verify(token)).kind, 'user')
  let written = 0
  server.response = (_request, response) => {
    const more = () => {
      while (!response.closed && response.write(' '.repeat(64 * 1024))) written += 64 * 1024
    }
    response.on('drain', more)
    more()
  }
  const tokens = verifierFor(server.uri)
  await unavailable(t, tokens, token)
  t.match(tokens.logged, [['warn', { err: { message: /more than 262144 bytes/ } }, String]])
  t.ok(written < 64 * 1024 * 1024, 'the response is not read to its end, which it does not have')

  const other = await keyServer(t, jwks(first))
  server.response = (_request, response) => void response.writeHead(307, { location: other.uri }).end()
  const redirected = verifierFor(server.uri)
  await unavailable(t, redirected, token)
  t.match(redirected.logged, [['warn', { err: { message: /returned 307, not 200/ } }, String]])
  t.equal(other.requests, 0)
})
