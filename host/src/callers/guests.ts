import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type Caller,
  currentTime,
  DAY,
  type Database,
  expiryDay,
  maybeOne,
  newId,
  run,
  send,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { LRUCache } from 'lru-cache'

/** Counted from the last write, in milliseconds. */
export const GUEST_LIFETIME = 30 * DAY
/** Size of the cache of guests by token. */
const MOST_KNOWN = 10_000

/** A caller without an account. A new guest is in memory only, until its first write. */
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

  /** The guest's secret. A method, so that no logger prints it. */
  revealToken(): string {
    return this.#token
  }

  has(_scope: string): boolean {
    return false
  }
}

/** The guests in the database, found by the SHA-256 of their tokens. */
export class Guests {
  readonly #database: Database
  /** The guests of the latest verified tokens. */
  readonly #known = new LRUCache<string, string>({ maxSize: MOST_KNOWN, sizeCalculation: () => 1 })

  constructor(database: Database) {
    this.#database = database
  }

  /** Creates a guest with 256 random bits. */
  create(): Guest {
    return new Guest(newId('guest'), randomBytes(32).toString('base64url'), 'new')
  }

  /** The guest of `token`; undefined for a malformed, unknown, expired or claimed one. One read. */
  async find(token: string, origin: 'header' | 'cookie'): Promise<Guest | undefined> {
    const known = this.remember(token, origin)
    if (known) return (await this.isStill(known)) ? known : undefined
    if (!isToken(token)) return undefined
    const wanted = hashOf(token)
    const row = await this.#database.maybeOne<{ id: string; token_hash: string }>(sql`
      SELECT id, token_hash FROM mortise_guest
      WHERE token_hash = ${wanted} AND expires_at > ${currentTime()} AND claimed_by IS NULL`)
    // The index compares byte by byte, but it compares hashes: their timing does not help to guess
    // a token.
    if (!row || !timingSafeEqual(Buffer.from(row.token_hash), Buffer.from(wanted))) return undefined
    this.#known.set(token, row.id)
    return new Guest(row.id, token, origin)
  }

  /** The guest of the first valid value. At most one read per value that could be a token. */
  async findFirst(tokens: readonly string[]): Promise<Guest | undefined> {
    for (const token of tokens) {
      const guest = await this.find(token, 'cookie')
      if (guest) return guest
    }
    return undefined
  }

  /** No read: the guest may have expired or been claimed since; check with `isStill`. */
  remember(token: string, origin: 'header' | 'cookie'): Guest | undefined {
    const key = this.#known.get(token)
    return key === undefined ? undefined : new Guest(key, token, origin)
  }

  /** Whether this guest is neither expired nor claimed. One read. */
  async isStill(guest: Guest): Promise<boolean> {
    const row = await this.#database.maybeOne(
      sql`SELECT 1 AS still FROM mortise_guest WHERE id = ${guest.key} AND expires_at > ${currentTime()} AND claimed_by IS NULL`,
    )
    if (row === undefined) this.#known.delete(guest.revealToken())
    return row !== undefined
  }

  /**
   * Marks the guest of `token` as claimed by `user` and so ends it. `now` is true if this call did
   * it; undefined if there is no such guest for the user to claim. The mark stays for a guest's
   * lifetime, so a repeated claim has the same result.
   *
   * @param user a caller id
   */
  *retire(token: string, user: string): Transaction<{ id: string; now: boolean } | undefined> {
    if (!isToken(token)) return undefined
    const wanted = hashOf(token)
    const now = currentTime()
    const row = yield* maybeOne<{ id: string; claimedBy: string | null }>(sql`
      SELECT id, claimed_by AS "claimedBy" FROM mortise_guest WHERE token_hash = ${wanted} AND expires_at > ${now}`)
    if (!row || (row.claimedBy !== null && row.claimedBy !== user)) return undefined
    if (row.claimedBy === null) {
      const expires = now + GUEST_LIFETIME
      // A concurrent write of this guest renews the same row, so the two run one after the other.
      yield* run(sql`
        UPDATE mortise_guest
        SET claimed_by = ${user}, expires_at = ${expires}, expiry_day = ${expiryDay(expires)} WHERE id = ${row.id}`)
    }
    return { id: callerId(row.id), now: row.claimedBy === null }
  }

  /** @returns its expiry in epoch milliseconds */
  *store(guest: Guest): Transaction<number> {
    const now = currentTime()
    const expires = now + GUEST_LIFETIME
    yield* send(
      sql`INSERT INTO mortise_guest (id, token_hash, created_at, expires_at, expiry_day)
          VALUES (${guest.key}, ${hashOf(guest.revealToken())}, ${now}, ${expires}, ${expiryDay(expires)})`,
    )
    return expires
  }

  /** False if the guest has expired or been claimed meanwhile. */
  *renew(guest: Guest): Transaction<boolean> {
    const now = currentTime()
    const expires = now + GUEST_LIFETIME
    const query = sql`
      UPDATE mortise_guest SET expires_at = ${expires}, expiry_day = ${expiryDay(expires)}
      WHERE id = ${guest.key} AND expires_at > ${now} AND claimed_by IS NULL`
    return ((yield { query, want: 'changes', expected: 1 }) as number) > 0
  }
}

const callerId = (key: string) => `guest:${key}`

const isToken = (token: string) => /^[\w-]{43}$/.test(token)

const hashOf = (token: string) => hash('sha256', token, 'base64url')
