import { createHash, randomBytes } from 'node:crypto'
import { readAtMost, readJson } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'
import { problem } from './module.ts'
import type { IssuerSettings } from './settings.ts'

// The authorization code flow with PKCE (RFC 6749, 7636). What comes of it is an access token, which
// the host verifies like any other: signature, issuer, audience, expiry. Nothing else is believed.

/**
 * How long the issuer may take for a response, in milliseconds. The host waits 5 s for each route when it checks a
 * module: an issuer that is down must not keep the console from being installed.
 */
const TIMEOUT = 3_000
/** Bytes of a response: a configuration, or a token. */
const MOST_BYTES = 256 * 1024

/** OpenID Connect Discovery 1.0, section 3. */
const Discovered = Type.Object({
  issuer: Type.String(),
  authorization_endpoint: Type.String(),
  token_endpoint: Type.String(),
})

/** A login that has begun, which only its browser knows. */
export interface Begun {
  readonly state: string
  /** PKCE. */
  readonly verifier: string
}

/** The address of the issuer's page. @throws {Problem} `login-failed` */
export async function addressOf(settings: IssuerSettings, { state, verifier }: Begun): Promise<URL> {
  const { authorization_endpoint: endpoint } = await discover(settings)
  const address = secureUrl(endpoint)
  const query = {
    response_type: 'code',
    client_id: settings.clientId,
    redirect_uri: settings.redirectUri,
    scope: settings.scope ?? 'openid',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  return address
}

/** What the issuer gives for a code. @throws {Problem} `login-failed` */
export async function accessTokenFor(
  settings: IssuerSettings,
  code: string,
  { verifier }: Begun,
): Promise<string> {
  const { token_endpoint: endpoint } = await discover(settings)
  const { clientId, clientSecret, redirectUri } = settings
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier: verifier,
  })
  const basic = [clientId, clientSecret ?? ''].map(encodeURIComponent).join(':')
  const given = (await ask(secureUrl(endpoint), {
    method: 'POST',
    body,
    ...(clientSecret !== undefined && {
      headers: { authorization: `Basic ${Buffer.from(basic).toString('base64')}` },
    }),
  })) as { readonly access_token?: unknown }
  if (typeof given.access_token !== 'string') throw failed('the issuer gave no access token')
  return given.access_token
}

export const newLogin = (): Begun => ({ state: secret(), verifier: secret() })

const secret = () => randomBytes(32).toString('base64url')

async function discover({ issuer }: IssuerSettings): Promise<Static<typeof Discovered>> {
  const address = secureUrl(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const found = (await ask(address)) as Partial<Static<typeof Discovered>>
  const isWhole = Object.keys(Discovered.properties).every((key) => typeof found[key as never] === 'string')
  // Another one could pass on the code of a user (mix-up).
  if (!isWhole || found.issuer !== issuer) throw failed(`${address} is not the configuration of ${issuer}`)
  return found as Static<typeof Discovered>
}

async function ask(address: URL, request: RequestInit = {}): Promise<object> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT)
    const response = await fetch(address, { ...request, redirect: 'error', signal })
    if (!response.ok) throw new Error(`it responds with ${response.status}`)
    return Object(readJson(await readAtMost(response.body, MOST_BYTES)))
  } catch (error) {
    throw failed(`${address.origin} cannot be asked: ${(error as Error).message}`)
  }
}

/** https, or http on loopback. */
function secureUrl(text: string): URL {
  const url = URL.parse(text)
  const isLocal = url?.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
  if (url === null || !(url.protocol === 'https:' || isLocal)) throw failed(`${text} is not https`)
  return url
}

export const failed = (reason: string) =>
  problem('login-failed', `You are not signed in: ${reason}. Begin again, or sign in with a token or a link.`)
