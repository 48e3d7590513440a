import { createSecretKey } from 'node:crypto'
import { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import * as errors from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import { KEYS_MAX_AGE, keysUnavailable, remoteKeys } from './jwks.ts'

/** The application itself, which signs with its own secret (HS256). */
export interface OwnIssuer {
  /** The exact `iss` of its tokens, as of every issuer. */
  readonly issuer: string
  /** At least 32 bytes. */
  readonly secret: Uint8Array
}

/** Somebody else, who signs with keys published at `jwksUri`. */
export interface RemoteIssuer {
  readonly issuer: string
  readonly jwksUri: string
  /** The `aud` that its tokens for this application carry. */
  readonly audience: string
  readonly algorithms: readonly ('RS256' | 'ES256')[]
}

export type TokenIssuer = OwnIssuer | RemoteIssuer

/** Clocks differ; a token's `exp` and `nbf` are taken this many seconds leniently. */
export const CLOCK_TOLERANCE = 30

// With a subject of 255 characters, a user's id then stays within the 1,024 that the SDK promises.
const ISSUER_LENGTH = 500

/** Between two lines about a key that is of no use, in milliseconds: anybody can name it. */
const SILENCE = 60_000

/** Verifies the tokens of one issuer: its own keys, and the one set of algorithms that fits them. */
export interface IssuerVerifier {
  readonly issuer: string
  /** How long, in milliseconds, a verdict holds at most. */
  readonly maxAge: number
  /** Checks signature and claims. Rejects with jose's errors, or a 503 Problem where the keys cannot be had. */
  verify(token: string): Promise<JWTPayload>
}

/** @throws {TypeError} for a configuration that cannot be safe */
export function issuerVerifier(config: TokenIssuer, log?: FastifyBaseLogger): IssuerVerifier {
  const { issuer } = config
  if (issuer === '' || encodeURIComponent(issuer).length > ISSUER_LENGTH) {
    throw new TypeError(`the issuer "${issuer}" must have 1 to ${ISSUER_LENGTH} URL-encoded characters`)
  }
  const expected: JWTVerifyOptions = {
    issuer,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  }
  if ('secret' in config) {
    return verifier(issuer, Infinity, ownKey(config.secret), { ...expected, algorithms: ['HS256'] })
  }
  const { jwksUri, audience } = config
  const algorithms = config.algorithms.filter((name) => name === 'RS256' || name === 'ES256')
  if (algorithms.length === 0 || algorithms.length < config.algorithms.length) {
    throw new TypeError(`the issuer "${issuer}" must have one or both of the algorithms RS256 and ES256`)
  }
  if (!audience) throw new TypeError(`the issuer "${issuer}" has no audience: name the aud of its tokens`)
  const keys = remoteKeys(jwksUri, log)
  const { verify } = verifier(issuer, KEYS_MAX_AGE, keys, { ...expected, audience, algorithms })
  const blame = blameKeys(jwksUri, log)
  return { issuer, maxAge: KEYS_MAX_AGE, verify: (token) => verify(token).catch(blame) }
}

function verifier(
  issuer: string,
  maxAge: number,
  key: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): IssuerVerifier {
  return { issuer, maxAge, verify: async (token) => (await jwtVerify(token, key, options)).payload }
}

/** jose throws an error of its own for a wrong token, and a TypeError for a key that it does not use: RSA below 2048 bits, say. */
function blameKeys(jwksUri: string, log?: FastifyBaseLogger): (error: unknown) => never {
  let silentUntil = 0
  return (error) => {
    if (error instanceof errors.JOSEError || error instanceof Problem) throw error
    if (performance.now() >= silentUntil) {
      silentUntil = performance.now() + SILENCE
      log?.warn({ err: error, url: jwksUri }, 'a key of a token issuer cannot be used')
    }
    throw keysUnavailable(error)
  }
}

function ownKey(secret: Uint8Array): JWTVerifyGetKey {
  if (secret.length < 32) throw new TypeError(`the secret has ${secret.length} bytes, and 32 are needed`)
  const key = createSecretKey(secret)
  return async () => key
}
