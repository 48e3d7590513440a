import { createHash, createSecretKey } from 'node:crypto'
import type { OwnIssuer, RemoteIssuer, TokenIssuer } from '@mortise/application'
import { fingerprintOf } from '@mortise/application'
import { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { JWTHeaderParameters, JWTVerifyGetKey } from 'jose'
import * as errors from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import { invalidToken } from './bearer.ts'
import { issuerKeys, KEYS_MAX_AGE, keysUnavailable } from './jwks.ts'
import { type KeySource, keySource } from './published-keys.ts'
import { userOf } from './token-user.ts'
import type { User } from './user.ts'

/** Tolerance for `exp` and `nbf` in seconds, since clocks differ. */
const CLOCK_TOLERANCE = 30

/** Begins the scopes of the links of `app console`. */
const SCOPE_OF_LINK = 'sign-in:'

/** Shortest time between two lines about an unusable key, which any client can name. */
const SILENCE = 60_000

/**
 * Verifies the tokens of one issuer with its own keys and the algorithms that fit them. Rejects with
 * jose's errors, or with a Problem: 503 if the keys are unavailable.
 */
export interface IssuerVerifier {
  verify(token: string): Promise<Verdict>
  /** Whether it would verify a token that was verified so, apart from the token's times. */
  trusts(proof: Proof): Promise<boolean>
}

/** What verified a token, without anything secret: it names the key and the rules of its issuer. */
export interface Proof {
  readonly issuer: string
  /** The fingerprint of the own secret, or the header that chose the issuer's key. */
  readonly key: string
  /** The fingerprint of the configuration of another issuer. */
  readonly rules?: string
}

export interface Verdict {
  readonly user: User
  /** Whether the token is a link into a console, which begins one session and is no bearer token. */
  readonly isLink: boolean
  /** The token's expiry plus the tolerance, in epoch milliseconds. */
  readonly expires: number
  /** The time of the next check, on the clock of `performance`, which never jumps. */
  readonly until: number
}

/** @throws {TypeError} for a secret that is too short */
export function issuerVerifier(config: TokenIssuer, log?: FastifyBaseLogger): IssuerVerifier {
  if ('secret' in config) {
    return ownVerifier(config)
  }
  const { issuer, audience } = config
  // RFC 9864 renames the algorithm for Ed25519.
  const algorithms = config.algorithms.flatMap((name) => (name === 'EdDSA' ? [name, 'Ed25519'] : name))
  const source = keySource(config)
  const find = issuerKeys(source, log)
  const rules = rulesOf(config)
  const proofOf = (header: object) => ({ issuer, key: chosenBy(header), rules })
  const verify = verifier(config, KEYS_MAX_AGE, find, { audience, algorithms }, proofOf)
  const blame = blameKeys(source, log)
  return {
    verify: (token) => verify(token).catch(blame),
    async trusts(proof) {
      if (proof.rules !== rules) return false
      try {
        await find(JSON.parse(proof.key), { payload: '', signature: '' })
        return true
      } catch (error) {
        // The issuer has withdrawn the key.
        if (isOfToken(error)) return false
        return blame(error)
      }
    },
  }
}

/** The part of a token's header that chooses a key. */
const chosenBy = ({ alg, kid }: Partial<JWTHeaderParameters>) => JSON.stringify({ alg, kid })

/** Differs if the host may take other tokens of the issuer, or take them for something else. */
function rulesOf(config: RemoteIssuer): string {
  const sorted = JSON.stringify(config, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  return createHash('sha256').update(sorted).digest('base64url')
}

/** A token names no key: after a rotation the previous secrets are tried until their time. */
function ownVerifier({ issuer, secret, previousSecrets = [] }: OwnIssuer): IssuerVerifier {
  if (secret.length < 32) throw new TypeError(`the secret has ${secret.length} bytes, and needs 32`)
  const keyed = (bytes: Uint8Array) => {
    const key = createSecretKey(bytes)
    const proof = { issuer, key: fingerprintOf(bytes) }
    return verifier(
      { issuer },
      Infinity,
      async () => key,
      { algorithms: ['HS256'] },
      () => proof,
    )
  }
  const current = keyed(secret)
  const previous = previousSecrets.map(({ secret, until }) => ({ verify: keyed(secret), until }))
  const ends = new Map(previousSecrets.map(({ secret, until }) => [fingerprintOf(secret), until]))
  ends.set(fingerprintOf(secret), Infinity)
  const trusts = async ({ key }: Proof) => (ends.get(key) ?? 0) > Date.now()
  const verify = async (token: string) => {
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
  return { verify, trusts }
}

const isWrongSignature = (error: unknown) => error instanceof errors.JWSSignatureVerificationFailed

type VerifierConfig = Parameters<typeof userOf>[1] & { readonly typ?: string }

function verifier(
  config: VerifierConfig,
  maxAge: number,
  find: JWTVerifyGetKey,
  rules: { readonly algorithms: string[]; readonly audience?: string },
  proofOf: (header: JWTHeaderParameters) => Proof,
): IssuerVerifier['verify'] {
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
    const { payload, protectedHeader } = await jwtVerify(token, key, options)
    // A logout token (OpenID Connect Back-Channel Logout 1.0) may come without its own typ.
    if (payload.events !== undefined) throw invalidToken('it is a security event, not an access token')
    const expires = ((payload.exp as number) + CLOCK_TOLERANCE) * 1000
    const user = userOf(payload, config, JSON.stringify(proofOf(protectedHeader)))
    return {
      user,
      isLink: user.scopes.some((scope) => scope.startsWith(SCOPE_OF_LINK)),
      expires,
      until: performance.now() + maxAge,
    }
  }
}

/** Many issuers send `JWT` or none, as it is optional; RFC 9068 has `at+jwt`. */
const usualTypes: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt'])

/** RFC 7515 §4.1.9: case does not matter, and `application/` is optional. */
const mediaType = (typ: unknown) =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '') : typ

const isOfToken = (error: unknown) =>
  error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)

/** jose throws its own errors for a wrong token, and others for an unusable key. */
function blameKeys({ url }: KeySource, log?: FastifyBaseLogger): (error: unknown) => never {
  let silentUntil = 0
  return (error) => {
    if (error instanceof Problem || isOfToken(error)) throw error
    if (performance.now() >= silentUntil) {
      silentUntil = performance.now() + SILENCE
      log?.warn({ err: error, url }, 'cannot use a key of a token issuer')
    }
    throw keysUnavailable(undefined, error)
  }
}
