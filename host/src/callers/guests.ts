import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Caller, DAY, type Database, newId, run, sql, type Transaction } from '@mortise/module-sdk'

/** Since its last write. */
export const GUEST_LIFETIME = 30 * DAY

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
    this.id = `guest:${key}`
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

  constructor(database: Database) {
    this.#database = database
  }

  /** Somebody new, with 256 bits nobody else has. */
  create(): Guest {
    return new Guest(newId('guest'), randomBytes(32).toString('base64url'), 'new')
  }

  /** The guest whom `token` proves, undefined for a token that is malformed, unknown or expired. One read. */
  async find(token: string, origin: 'header' | 'cookie'): Promise<Guest | undefined> {
    if (!/^[\w-]{43}$/.test(token)) return undefined
    const hash = hashOf(token)
    const row = await this.#database.maybeOne<{ id: string; token_hash: string }>(
      sql`SELECT id, token_hash FROM mortise_guest WHERE token_hash = ${hash} AND expires_at > ${Date.now()}`,
    )
    // The index compares byte by byte, but hashes: what its timing tells is of no use in guessing a token.
    if (!row || !timingSafeEqual(Buffer.from(row.token_hash), Buffer.from(hash))) return undefined
    return new Guest(row.id, token, origin)
  }

  /** Remembers a new guest. @returns when it expires, in epoch milliseconds */
  *store(guest: Guest): Transaction<number> {
    const now = Date.now()
    const expires = now + GUEST_LIFETIME
    yield* run(
      sql`INSERT INTO mortise_guest (id, token_hash, created_at, expires_at)
          VALUES (${guest.key}, ${hashOf(guest.revealToken())}, ${now}, ${expires})`,
    )
    return expires
  }

  /** Has a known guest expire later, since it writes. False where it has vanished or expired meanwhile. */
  *renew(guest: Guest): Transaction<boolean> {
    const now = Date.now()
    const changes = yield* run(
      sql`UPDATE mortise_guest SET expires_at = ${now + GUEST_LIFETIME}
          WHERE id = ${guest.key} AND expires_at > ${now}`,
    )
    return changes > 0
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
