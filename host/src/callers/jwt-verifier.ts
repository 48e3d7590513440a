import { createSecretKey } from 'node:crypto'
import { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { JWTVerifyGetKey } from 'jose'
import * as errors from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import type { OwnIssuer, TokenIssuer } from '../config/token-issuer.ts'
import { invalidToken } from './bearer.ts'
import { issuerKeys, KEYS_MAX_AGE, keysUnavailable } from './jwks.ts'
import { type KeySource, keySource } from './published-keys.ts'
import { userOf } from './token-user.ts'
import type { User } from './user.ts'

/** Tolerance for `exp` and `nbf` in seconds, since clocks differ. */
const CLOCK_TOLERANCE = 30

/** Shortest time between two lines about an unusable key, which any client can name. */
const SILENCE = 60_000

/**
 * Verifies a token of one issuer with its own keys and the algorithms that fit them. Rejects with
 * jose's errors, or with a Problem: 503 if the keys are unavailable.
 */
export type VerifyToken = (token: string) => Promise<Verdict>

export interface Verdict {
  readonly user: User
  /** The token's expiry plus the tolerance, in epoch milliseconds. */
  readonly expires: number
  /** The time of the next check, on the clock of `performance`, which never jumps. */
  readonly until: number
}

/** @throws {TypeError} for a secret that is too short */
export function issuerVerifier(config: TokenIssuer, log?: FastifyBaseLogger): VerifyToken {
  if ('secret' in config) {
    return ownVerifier(config)
  }
  const { audience } = config
  // RFC 9864 renames the algorithm for Ed25519.
  const algorithms = config.algorithms.flatMap((name) => (name === 'EdDSA' ? [name, 'Ed25519'] : name))
  const source = keySource(config)
  const verify = verifier(config, KEYS_MAX_AGE, issuerKeys(source, log), { audience, algorithms })
  const blame = blameKeys(source, log)
  return (token) => verify(token).catch(blame)
}

/** A token names no key: after a rotation the previous secrets are tried until their time. */
function ownVerifier({ issuer, secret, previousSecrets = [] }: OwnIssuer): VerifyToken {
  if (secret.length < 32) throw new TypeError(`the secret has ${secret.length} bytes, and needs 32`)
  const keyed = (bytes: Uint8Array) => {
    const key = createSecretKey(bytes)
    return verifier({ issuer }, Infinity, async () => key, { algorithms: ['HS256'] })
  }
  const current = keyed(secret)
  const previous = previousSecrets.map(({ secret, until }) => ({ verify: keyed(secret), until }))
  return async (token) => {
    try {
      return await current(token)
    } catch (error) {
      for (const { verify, until } of previous) {
        const left = until - Date.now()
        if (left <= 0 || !isWrongSignature(error)) continue
        const verdict = await verify(token).catch((other) => (isWrongSignature(other) ? undefined : other))
        if (verdict instanceof Error) throw verdict
        if (verdict) return { ...verdict, expires: Math.min(verdict.expires, until) }
      }
      throw error
    }
  }
}

const isWrongSignature = (error: unknown) => error instanceof errors.JWSSignatureVerificationFailed

type VerifierConfig = Parameters<typeof userOf>[1] & { readonly typ?: string }

function verifier(
  config: VerifierConfig,
  maxAge: number,
  find: JWTVerifyGetKey,
  rules: { readonly algorithms: string[]; readonly audience?: string },
): VerifyToken {
  const options = {
    ...rules,
    issuer: config.issuer,
    requiredClaims: config.claims?.subject === undefined ? ['exp', 'sub'] : ['exp'],
    clockTolerance: CLOCK_TOLERANCE,
  }
  // Runs before the key look-up, after jose has checked the algorithm.
  const key: JWTVerifyGetKey = (header, token) => {
    const type = mediaType(header.typ)
    // Others are a logout token, a DPoP proof (RFC 8725 §3.11).
    if (config.typ === undefined ? !usualTypes.has(type) : type !== mediaType(config.typ))
      throw invalidToken('its typ is not an access token type of its issuer')
    return find(header, token)
  }
  return async (token) => {
    const { payload } = await jwtVerify(token, key, options)
    // A logout token (OpenID Connect Back-Channel Logout 1.0) may come without its own typ.
    if (payload.events !== undefined) throw invalidToken('it is a security event, not an access token')
    const expires = ((payload.exp as number) + CLOCK_TOLERANCE) * 1000
    return { user: userOf(payload, config), expires, until: performance.now() + maxAge }
  }
}

/** Many issuers send `JWT` or none, as it is optional; RFC 9068 has `at+jwt`. */
const usualTypes: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt'])

/** RFC 7515 §4.1.9: case does not matter, and `application/` is optional. */
const mediaType = (typ: unknown) =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '') : typ

/** jose throws its own errors for a wrong token, and others for an unusable key. */
function blameKeys({ url }: KeySource, log?: FastifyBaseLogger): (error: unknown) => never {
  let silentUntil = 0
  return (error) => {
    const isOfToken = error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)
    if (error instanceof Problem || isOfToken) throw error
    if (performance.now() >= silentUntil) {
      silentUntil = performance.now() + SILENCE
      log?.warn({ err: error, url }, 'cannot use a key of a token issuer')
    }
    throw keysUnavailable(undefined, error)
  }
}
