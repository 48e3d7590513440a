import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type Caller,
  DAY,
  type Database,
  maybeOne,
  newId,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { LRUCache } from 'lru-cache'

/** Since its last write. */
export const GUEST_LIFETIME = 30 * DAY
/** Guests who are remembered by their tokens. */
const MOST_KNOWN = 10_000
/** Guests who are deleted in one transaction at most. */
const FORGOTTEN_AT_ONCE = 200

/**
 * A caller without an account: whoever holds its token. Its caller id is `guest:` and a TypeID, so that it is
 * never a user's. A new one exists in memory only, until its first write stores it.
 */
export class Guest implements Caller {
  readonly id: string
  readonly kind = 'guest'
  /** The primary key in mortise_guest: a TypeID. */
  readonly key: string
  readonly origin: 'header' | 'cookie' | 'new'
  readonly #token: string

  constructor(key: string, token: string, origin: Guest['origin']) {
    this.id = callerId(key)
    this.key = key
    this.origin = origin
    this.#token = token
  }

  /** The secret that makes somebody this guest. A method, so that no logger prints it. */
  revealToken(): string {
    return this.#token
  }

  has(_scope: string): boolean {
    return false
  }
}

/** Guests as the database knows them: by the SHA-256 of their tokens. */
export class Guests {
  readonly #database: Database
  /** Those whom tokens have proved, the latest. */
  readonly #known = new LRUCache<string, string>({ max: MOST_KNOWN })

  constructor(database: Database) {
    this.#database = database
  }

  /** Somebody new, with 256 bits nobody else has. */
  create(): Guest {
    return new Guest(newId('guest'), randomBytes(32).toString('base64url'), 'new')
  }

  /** The guest whom `token` proves, undefined for a token that is malformed, unknown, expired or claimed. One read. */
  async find(token: string, origin: 'header' | 'cookie'): Promise<Guest | undefined> {
    if (!isToken(token)) return undefined
    const hash = hashOf(token)
    const row = await this.#database.maybeOne<{ id: string; token_hash: string }>(sql`
      SELECT id, token_hash FROM mortise_guest
      WHERE token_hash = ${hash} AND expires_at > ${Date.now()} AND claimed_by IS NULL`)
    // The index compares byte by byte, but hashes: what its timing tells is of no use in guessing a token.
    if (!row || !timingSafeEqual(Buffer.from(row.token_hash), Buffer.from(hash))) return undefined
    this.#known.set(token, row.id)
    return new Guest(row.id, token, origin)
  }

  /**
   * The first guest whom the values of a cookie prove, undefined where none of them does. At most one read for each
   * value that could be a token; the head of a request, of 8 KiB, has room for 160.
   */
  async findFirst(tokens: readonly string[]): Promise<Guest | undefined> {
    for (const token of tokens) {
      const guest = await this.find(token, 'cookie')
      if (guest) return guest
    }
    return undefined
  }

  /** The guest whom `token` has proved before, who may have expired or been claimed since: look by `isStill`. No read. */
  remember(token: string, origin: 'header' | 'cookie'): Guest | undefined {
    const key = this.#known.get(token)
    return key === undefined ? undefined : new Guest(key, token, origin)
  }

  /** Whether this guest has not expired, and nobody has claimed it. One read. */
  async isStill(guest: Guest): Promise<boolean> {
    const row = await this.#database.maybeOne(
      sql`SELECT 1 AS still FROM mortise_guest WHERE id = ${guest.key} AND expires_at > ${Date.now()} AND claimed_by IS NULL`,
    )
    if (row === undefined) this.#known.delete(guest.revealToken())
    return row !== undefined
  }

  /**
   * Makes the guest of `token` one whom `user` has claimed: nobody is this guest any more. `now` tells whether it
   * happened now; undefined where no such guest is the user's to claim. Kept for as long as a guest, to tell
   * the same again.
   *
   * @param user a caller id
   */
  *retire(token: string, user: string): Transaction<{ id: string; now: boolean } | undefined> {
    if (!isToken(token)) return undefined
    const hash = hashOf(token)
    const now = Date.now()
    const row = yield* maybeOne<{ id: string; claimedBy: string | null }>(sql`
      SELECT id, claimed_by AS "claimedBy" FROM mortise_guest WHERE token_hash = ${hash} AND expires_at > ${now}`)
    if (!row || (row.claimedBy !== null && row.claimedBy !== user)) return undefined
    if (row.claimedBy === null) {
      const expires = now + GUEST_LIFETIME
      // A write of this guest at the same time renews this very row, so that one of the two comes first.
      yield* run(sql`
        UPDATE mortise_guest
        SET claimed_by = ${user}, expires_at = ${expires}, expiry_day = ${dayOf(expires)} WHERE id = ${row.id}`)
    }
    return { id: callerId(row.id), now: row.claimedBy === null }
  }

  /** Remembers a new guest. @returns when it expires, in epoch milliseconds */
  *store(guest: Guest): Transaction<number> {
    const now = Date.now()
    const expires = now + GUEST_LIFETIME
    yield* run(
      sql`INSERT INTO mortise_guest (id, token_hash, created_at, expires_at, expiry_day)
          VALUES (${guest.key}, ${hashOf(guest.revealToken())}, ${now}, ${expires}, ${dayOf(expires)})`,
    )
    return expires
  }

  /** Has a known guest expire later, since it writes. False where it has expired or been claimed meanwhile. */
  *renew(guest: Guest): Transaction<boolean> {
    const now = Date.now()
    const expires = now + GUEST_LIFETIME
    const changes = yield* run(
      sql`UPDATE mortise_guest SET expires_at = ${expires}, expiry_day = ${dayOf(expires)}
          WHERE id = ${guest.key} AND expires_at > ${now} AND claimed_by IS NULL`,
    )
    return changes > 0
  }

  /** Deletes some of those who expired before today (UTC); answers whether there may be more of them. */
  *forgetExpired(now = Date.now()): Transaction<boolean> {
    const forgotten = yield* run(sql`
      DELETE FROM mortise_guest WHERE id IN (
        SELECT id FROM mortise_guest WHERE expiry_day < ${dayOf(now)} AND expires_at <= ${now}
        ORDER BY expiry_day LIMIT ${FORGOTTEN_AT_ONCE})`)
    return forgotten === FORGOTTEN_AT_ONCE
  }
}

const dayOf = (time: number) => Math.floor(time / DAY)

const callerId = (key: string) => `guest:${key}`

const isToken = (token: string) => /^[\w-]{43}$/.test(token)

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
