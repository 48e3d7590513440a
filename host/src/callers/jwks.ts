import { ClockWatch, type Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { FetchImplementation, JWTVerifyGetKey } from 'jose'
import * as errors from 'jose/errors'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { hostProblems } from '../http/problems.ts'

const TIMEOUT = 5_000
/** Between two fetches for the sake of an unknown `kid`, which anybody can make up. */
const COOLDOWN = 30_000
/** Between two attempts at an issuer that cannot be reached; keys that are already here serve meanwhile. */
const PAUSE = 5_000
/** How long keys serve before they are fetched again, and a verdict by them holds: a withdrawn key twice as long at most. */
export const KEYS_MAX_AGE = 600_000

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

/**
 * The keys that an issuer publishes at `jwksUri`: fetched when first needed, again when too old, and once
 * when a token names a key that is not among them.
 *
 * The key function throws jose's errors where the token is at fault, and a 503 Problem where the keys
 * cannot be had: the token may be good, and "401" would tell a client to throw it away.
 *
 * @throws {TypeError} for a URL that is neither https nor on loopback
 */
export function remoteKeys(jwksUri: string, log?: FastifyBaseLogger): JWTVerifyGetKey {
  const url = new URL(jwksUri)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback.has(url.hostname))) {
    throw new TypeError(
      `the jwksUri ${jwksUri} is refused, since anybody on the way could forge keys: use https`,
    )
  }
  const options = {
    timeoutDuration: TIMEOUT,
    cooldownDuration: COOLDOWN,
    cacheMaxAge: KEYS_MAX_AGE,
    [customFetch]: fetchWithPause(log),
  }
  let keys = createRemoteJWKSet(url, options)
  const clock = new ClockWatch()
  return async (header, token) => {
    // jose goes by the machine's clock: put back, it would keep old keys until it is where it was.
    if (clock.wentBack(Date.now())) keys = createRemoteJWKSet(url, options)
    try {
      return await keys(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) throw error
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error
      throw keysUnavailable(error)
    }
  }
}

/** 503: the token may be good, but there is no key here to tell. */
export function keysUnavailable(cause: unknown): Problem {
  return hostProblems.create(
    'issuer-unavailable',
    'The keys of the issuer of this token cannot be read at the moment: try again with the same token.',
    { cause, headers: { 'retry-after': String(PAUSE / 1000) } },
  )
}

/** fetch, which after a failure fails at once for a while instead of knocking once per request. */
function fetchWithPause(log?: FastifyBaseLogger): FetchImplementation {
  let pausedUntil = 0
  let failure: unknown
  return async (url, options) => {
    if (performance.now() < pausedUntil) throw failure
    try {
      const response = await fetch(url, options)
      if (response.status !== 200) throw new Error(`${url} answered ${response.status}, not 200`)
      return Response.json(await response.json())
    } catch (error) {
      failure = error
      pausedUntil = performance.now() + PAUSE
      log?.warn({ err: error, url }, 'the keys of a token issuer cannot be read')
      throw error
    }
  }
}
