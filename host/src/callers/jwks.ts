import type { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { JWTVerifyGetKey } from 'jose'
import { createLocalJWKSet } from 'jose/jwks/local'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { hostProblems } from '../http/problems.ts'
import type { KeySource } from './published-keys.ts'

/** Shortest time between two requests, in milliseconds, whatever an attacker's tokens name. */
const PAUSE = 5_000
/** From this age, in milliseconds, keys are fetched again while the old ones serve. */
const REFRESH_AGE = 300_000
/** In milliseconds. A withdrawn key serves twice as long at most. */
export const KEYS_MAX_AGE = 600_000

/**
 * The keys that an issuer publishes, by jose: fetched when first needed, when old, and when a token
 * names an unknown key. The time of the keys is that of `performance`, which never jumps. The
 * function throws jose's errors for a bad token, and a 503 Problem while the keys cannot be had: the
 * token may be valid, and a 401 would make the client discard it.
 */
export function issuerKeys(source: KeySource, log?: FastifyBaseLogger): JWTVerifyGetKey {
  let readAt = Number.NEGATIVE_INFINITY
  /** When the source may be read again after a failure; undefined while it can be read. */
  let retryAt: number | undefined

  const read = async (_url: string, { signal }: { signal: AbortSignal }) => {
    const now = performance.now()
    if (retryAt !== undefined && now < retryAt) throw keysUnavailable(retryAt - now)
    try {
      const keys = await source.read(signal)
      createLocalJWKSet(keys)
      if (retryAt !== undefined)
        log?.info({ url: source.url }, 'the keys of a token issuer can be read again')
      retryAt = undefined
      readAt = now
      return Response.json(keys)
    } catch (error) {
      if (retryAt === undefined)
        log?.warn({ err: error, url: source.url }, 'cannot read the keys of a token issuer')
      retryAt = performance.now() + PAUSE
      throw keysUnavailable(PAUSE, error)
    }
  }
  const keys = createRemoteJWKSet(new URL(source.url), {
    cooldownDuration: PAUSE,
    cacheMaxAge: Number.POSITIVE_INFINITY,
    [customFetch]: read,
  })
  return async (header, token) => {
    const age = performance.now() - readAt
    if (age >= KEYS_MAX_AGE) await keys.reload()
    else if (age >= REFRESH_AGE) keys.reload().catch(() => {})
    return keys(header, token)
  }
}

/** 503: the key is unavailable. `wait` is the milliseconds until the next try makes sense. */
export function keysUnavailable(wait = PAUSE, cause?: unknown): Problem {
  const seconds = Math.max(1, Math.ceil(wait / 1000))
  return hostProblems.create(
    'issuer-unavailable',
    `The server cannot read the keys of the token's issuer: try again with the same token in ${seconds} s.`,
    { cause, headers: { 'retry-after': String(seconds) } },
  )
}
