import { createHash, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import type { Test } from 'tap'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

interface Grant {
  readonly challenge: string
  readonly scope: string
  readonly redirectUri: string
}

export const AUDIENCE = 'shop'

/**
 * An issuer on loopback, until the test ends. It gives one token for a code, and only for the verifier and the address
 * of the code. Its page has a link that grants a login as Ann, with the scope `admin`.
 * @param name by which the browser knows this machine
 */
export async function localIssuer(t: Test, name = '127.0.0.1') {
  const grants = new Map<string, Grant>()
  const seen: URLSearchParams[] = []
  const state: {
    issuer: string
    claims: string
    authorization: string
    /** Of the present key. */
    kid: string
    /** Scopes as a list, instead of the claim `scope`. */
    scp?: string[]
  } = { issuer: '', claims: '', authorization: '', kid: 'one' }
  const server = createServer(async (request, response) => {
    const json = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body))
    const { pathname, searchParams: asked } = new URL(request.url ?? '', state.issuer)
    switch (pathname) {
      case '/jwks':
        return json(200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: state.kid, use: 'sig' }] })
      case '/.well-known/openid-configuration':
        return json(200, {
          issuer: state.claims || state.issuer,
          authorization_endpoint: `${state.issuer}/authorize?tenant=shop`,
          token_endpoint: `${state.issuer}/token`,
          jwks_uri: `${state.issuer}/jwks`,
        })
      case '/authorize': {
        const grant = new URLSearchParams(asked).toString().replaceAll('&', '&amp;')
        response.setHeader('content-type', 'text/html')
        return response.end(
          `<!doctype html><title>Issuer</title><a href="/granted?${grant}">Continue as Ann</a>`,
        )
      }
      case '/granted': {
        const redirectUri = asked.get('redirect_uri') ?? ''
        grants.set('granted', { challenge: asked.get('code_challenge') ?? '', scope: 'admin', redirectUri })
        const query = new URLSearchParams({ code: 'granted', state: asked.get('state') ?? '' })
        return response.writeHead(302, { location: `${redirectUri}?${query}` }).end()
      }
    }
    // A browser asks for an icon, too.
    if (pathname !== '/token') return json(404, {})
    let text = ''
    for await (const part of request) text += part
    const given = new URLSearchParams(text)
    seen.push(given)
    state.authorization = request.headers.authorization ?? ''
    const grant = grants.get(given.get('code') ?? '')
    grants.delete(given.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url')
    if (grant?.challenge !== challenge || given.get('redirect_uri') !== grant.redirectUri)
      return json(400, { error: 'invalid_grant' })
    const token = await new SignJWT(state.scp ? { scp: state.scp } : { scope: grant.scope })
      .setProtectedHeader({ alg: 'ES256', kid: state.kid })
      .setIssuer(state.issuer)
      .setAudience(AUDIENCE)
      .setSubject('ann')
      .setExpirationTime('5m')
      .sign(privateKey)
    return json(200, { access_token: token, token_type: 'Bearer' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  state.issuer = `http://${name}:${port}`
  /** In `auth.issuers` of the application. */
  const trusted = {
    issuer: state.issuer,
    jwksUri: `http://127.0.0.1:${port}/jwks`,
    audience: AUDIENCE,
    algorithms: ['ES256'],
  }
  return { state, grants, seen, trusted }
}
