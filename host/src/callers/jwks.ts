import type { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { JWTVerifyGetKey } from 'jose'
import * as errors from 'jose/errors'
import { createLocalJWKSet } from 'jose/jwks/local'
import { LRUCache } from 'lru-cache'
import { hostProblems } from '../http/problems.ts'
import type { KeySource } from './published-keys.ts'

/** Between two looks at an issuer, whatever they are for: an attacker's tokens make no more of them. */
const PAUSE = 5_000
/** From here on keys are read again, while the old ones serve. */
const REFRESH_AGE = 300_000
/** How long keys serve, and a verdict by them holds: a withdrawn key twice as long at most. */
export const KEYS_MAX_AGE = 600_000
/** Characters of the names of absent keys that are remembered. */
const ABSENT_SIZE = 256 * 1024

/**
 * The keys that an issuer publishes: read when first needed, again when old, and when a token names a key
 * that is not among them. A key is absent only if it is not in a set that was read after a token named it:
 * until then nobody knows, so that a new key is never refused for the keys that others make up. It is absent only
 * until the next look is due: an issuer, or a cache in front of it, may publish a key after it has signed with it.
 *
 * All times are those of `performance`, which never jumps.
 */
export class IssuerKeys {
  readonly #source: KeySource
  readonly #log: FastifyBaseLogger | undefined
  #find: JWTVerifyGetKey = () => Promise.reject(new errors.JWKSNoMatchingKey())
  /** The look that brought the keys; looks are counted as they begin. */
  #keysOf = 0
  #looks = 0
  /** When that look began. */
  #asked = Number.NEGATIVE_INFINITY
  #nextLook = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  #isAway = false
  /** By the name of a key that was not here, the looks that had begun then: a later one tells whether it is there. */
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
   * The key that `header` names. Throws jose's errors where the token is at fault, and a 503 Problem where
   * nobody can tell yet: the token may be good, and "401" would tell a client to throw it away.
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

    const named = this.#namedAt(JSON.stringify([header.alg, header.kid]), looks)
    const isLatest = this.#keysOf === this.#looks && performance.now() < this.#nextLook
    if (this.#keysOf <= named || !isLatest) {
      await this.#look()
      const found = await find()
      if (found) return found
      if (this.#keysOf <= named) throw this.#unavailable()
    }
    throw new errors.JWKSNoMatchingKey()
  }

  #namedAt(name: string, looks: number): number {
    const named = this.#absent.get(name)
    if (named === undefined) this.#absent.set(name, looks)
    return named ?? looks
  }

  /** One look at a time, which serves all who wait. @throws {Problem} 503 where it fails or is not due */
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
        this.#log?.info({ url: this.#source.url }, 'the keys of a token issuer are read again')
      this.#isAway = false
    } catch (error) {
      if (!this.#isAway)
        this.#log?.warn({ err: error, url: this.#source.url }, 'the keys of a token issuer cannot be read')
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

/** 503: the token may be good, but there is no key here to tell. @param wait milliseconds until it is worth another try */
export function keysUnavailable(wait = PAUSE, cause?: unknown): Problem {
  const seconds = Math.max(1, Math.ceil(wait / 1000))
  return hostProblems.create(
    'issuer-unavailable',
    `The keys of the issuer of this token cannot be read at the moment: try again with the same token in ${seconds} s.`,
    { cause, headers: { 'retry-after': String(seconds) } },
  )
}
