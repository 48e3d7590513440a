import type { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { JWTVerifyGetKey } from 'jose'
import * as errors from 'jose/errors'
import { createLocalJWKSet } from 'jose/jwks/local'
import { LRUCache } from 'lru-cache'
import { hostProblems } from '../http/problems.ts'
import type { KeySource } from './published-keys.ts'

/** Shortest time between two requests, in milliseconds, whatever an attacker's tokens name. */
const PAUSE = 5_000
/** From this age, in milliseconds, keys are fetched again while the old ones serve. */
const REFRESH_AGE = 300_000
/** In milliseconds. A withdrawn key serves twice as long at most. */
export const KEYS_MAX_AGE = 600_000
/** Size of the cache of absent key names, in characters. */
const ABSENT_SIZE = 256 * 1024

/**
 * The keys that an issuer publishes. They are fetched when first needed, when old, and when a token
 * names an unknown key. A key counts as absent only if a set fetched after a token named it does
 * not contain it; until then its absence is unknown, so made-up keys never cause the refusal of a
 * new key. It stays absent only until the next fetch is due: an issuer, or a cache in front of it,
 * may publish a key after its first use.
 *
 * All times are those of `performance`, which never jumps.
 */
export class IssuerKeys {
  readonly #source: KeySource
  readonly #log: FastifyBaseLogger | undefined
  #find: JWTVerifyGetKey = () => Promise.reject(new errors.JWKSNoMatchingKey())
  /** The number of the fetch that brought the keys; fetches are numbered at their start. */
  #keysOf = 0
  #looks = 0
  /** The start of that fetch. */
  #asked = Number.NEGATIVE_INFINITY
  #nextLook = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  #isAway = false
  /** By the name of an absent key, the number of fetches then; a later one shows. */
  readonly #absent = new LRUCache<string, number>({
    maxSize: ABSENT_SIZE,
    maxEntrySize: 1024,
    sizeCalculation: (_looks, name) => name.length,
  })

  constructor(source: KeySource, log?: FastifyBaseLogger) {
    this.#source = source
    this.#log = log
  }

  /**
   * The key that `header` names. Throws jose's errors for a bad token, and a 503 Problem while the
   * response is unknown: the token may be valid, and a 401 would make the client discard it.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const looks = this.#looks
    const age = performance.now() - this.#asked
    if (age >= KEYS_MAX_AGE) await this.#look()
    else if (age >= REFRESH_AGE) this.#look().catch(() => {})
    const find = async () => {
      try {
        return await this.#find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      }
    }
    const known = await find()
    if (known) return known

    const name = JSON.stringify([header.alg, header.kid])
    const named = this.#absent.get(name) ?? looks
    this.#absent.set(name, named)
    const isLatest = this.#keysOf === this.#looks && performance.now() < this.#nextLook
    if (this.#keysOf <= named || !isLatest) {
      await this.#look()
      const found = await find()
      if (found) return found
      if (this.#keysOf <= named) throw this.#unavailable()
    }
    throw new errors.JWKSNoMatchingKey()
  }

  /** @throws {Problem} 503 if it fails or is not due */
  async #look(): Promise<void> {
    if (!this.#looking && performance.now() < this.#nextLook) throw this.#unavailable()
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined
    })
    await this.#looking
  }

  async #read(): Promise<void> {
    this.#looks += 1
    const [look, asked] = [this.#looks, performance.now()]
    try {
      this.#find = createLocalJWKSet(await this.#source.read())
      this.#keysOf = look
      this.#asked = asked
      if (this.#isAway)
        this.#log?.info({ url: this.#source.url }, 'the keys of a token issuer can be read again')
      this.#isAway = false
    } catch (error) {
      if (!this.#isAway)
        this.#log?.warn({ err: error, url: this.#source.url }, 'cannot read the keys of a token issuer')
      this.#isAway = true
      throw keysUnavailable(PAUSE, error)
    } finally {
      this.#nextLook = performance.now() + PAUSE
    }
  }

  #unavailable(): Problem {
    return keysUnavailable(this.#nextLook - performance.now())
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
