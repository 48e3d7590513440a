import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import type { RemoteIssuer, SigningAlgorithm } from '@mortise/application'
import { type JWTPayload, SignJWT } from 'jose'
import type { Test } from 'tap'
import { createTokenVerifier, type TokenVerifier } from '../../src/callers/token-verifier.ts'

const issuer = 'https://login.example/'
export const audience = 'shop'
export const seconds = () => Math.floor(Date.now() / 1000)
export const good = () => ({ iss: issuer, aud: audience, sub: 'ann', exp: seconds() + 7200 })

export interface Pair {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export const rsa = (kid: string, alg: 'RS256' | 'PS256' = 'RS256', modulusLength = 2048): Pair => ({
  kid,
  alg,
  ...generateKeyPairSync('rsa', { modulusLength }),
})
export const ec = (kid: string): Pair => ({
  kid,
  alg: 'ES256',
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
})
export const ed = (kid: string): Pair => ({ kid, alg: 'EdDSA', ...generateKeyPairSync('ed25519') })

export function sign(pair: Pair, claims: JWTPayload = good(), header: object = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: pair.alg, kid: pair.kid, ...header })
    .sign(pair.privateKey)
}

export function jwks(...pairs: Pair[]): string {
  return JSON.stringify({
    keys: pairs.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' })),
  })
}

/** A server on loopback whose response can be changed, and which counts what it is asked. */
export async function keyServer(t: Test, response: string | RequestListener) {
  const state = { response, requests: 0 }
  const server = createServer((request, response) => {
    state.requests += 1
    if (typeof state.response === 'string') response.end(state.response)
    else state.response(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(state, { origin, uri: `${origin}/jwks` })
}

/** Verifies tokens of `issuer`, and collects what is logged: the level, what it is about, the message. */
export function verifierFor(jwksUri: string, rules: Partial<RemoteIssuer> = {}) {
  const logged: unknown[][] = []
  const at =
    (level: string) =>
    (...entry: unknown[]) =>
      logged.push([level, ...entry])
  const log = { warn: at('warn'), info: at('info') } as never
  const tokens = createTokenVerifier({
    issuers: [{ issuer, jwksUri, audience, algorithms: ['RS256'], ...rules }],
    log,
  })
  return Object.assign(tokens, { logged })
}

export const refused = (t: Test, tokens: TokenVerifier, token: string, message: RegExp) =>
  t.rejects(
    async () => tokens.verify(token),
    {
      status: 401,
      code: 'unauthorized',
      message,
      headers: { 'www-authenticate': /^Bearer error="invalid_token", error_description="[^"\\]+"$/ },
    },
    String(message),
  )

export const unavailable = (t: Test, tokens: TokenVerifier, token: string, wait = 5) =>
  t.rejects(async () => tokens.verify(token), {
    status: 503,
    code: 'issuer-unavailable',
    message: /keys of the token's issuer/,
    headers: { 'retry-after': String(wait) },
  })

/** Clocks that a test moves: `pass` both, `jump` only that of the machine. */
export function atTime(t: Test): { pass(milliseconds: number): void; jump(milliseconds: number): void } {
  let now = Date.now()
  const start = Math.ceil(performance.now())
  let passed = 0
  mock.timers.enable({ apis: ['Date'], now })
  const clock = mock.method(performance, 'now', () => start + passed)
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
