import { createHash, randomBytes } from 'node:crypto'
import { DAY, expiryDay, newId } from '@mortise/module-sdk'
import type { Database } from 'better-sqlite3'
import { jwtVerify } from 'jose'

export interface BareCaller {
  readonly owner: string
  /** The lifetime of the caller's data, in milliseconds. */
  readonly lifetime: number
  /** The id of a guest. A new guest also has the token that it has not received yet. */
  readonly guest?: { readonly id: string; readonly newToken?: string }
}

export const GUEST_LIFETIME = 30 * DAY

/** Users by JWT. Each token is verified once and then recognized by its text. */
export class BareUsers {
  readonly #known = new Map<string, BareCaller>()
  readonly #secret: Uint8Array

  constructor(secret: Uint8Array) {
    this.#secret = secret
  }

  known(authorization: string): BareCaller | undefined {
    return this.#known.get(authorization)
  }

  async verify(authorization: string): Promise<BareCaller> {
    const { payload } = await jwtVerify(authorization.slice('Bearer '.length), this.#secret, {
      algorithms: ['HS256'],
    })
    const user = { owner: `user:${payload.iss}:${payload.sub}`, lifetime: 90 * DAY }
    this.#known.set(authorization, user)
    return user
  }
}

export function newGuest(): BareCaller {
  const id = newId('guest')
  const newToken = randomBytes(32).toString('base64url')
  return { ...knownGuest(id), guest: { id, newToken } }
}

export const knownGuest = (id: string): BareCaller => ({
  owner: `guest:${id}`,
  lifetime: GUEST_LIFETIME,
  guest: { id },
})

/** Guests on SQLite, by the hash of their token. */
export class BareGuests {
  readonly #find
  readonly #renew
  readonly #store

  constructor(database: Database) {
    this.#find = database.prepare<[string, number], { id: string }>(
      'SELECT id FROM mortise_guest WHERE token_hash = ? AND expires_at > ?',
    )
    this.#renew = database.prepare<[number, string, number]>(
      'UPDATE mortise_guest SET expires_at = ? WHERE id = ? AND expires_at > ?',
    )
    this.#store = database.prepare<[string, string, number, number, number]>(
      'INSERT INTO mortise_guest (id, token_hash, created_at, expires_at, expiry_day) VALUES (?, ?, ?, ?, ?)',
    )
  }

  find(token: string): BareCaller | undefined {
    const row = this.#find.get(hashOf(token), Date.now())
    return row && knownGuest(row.id)
  }

  /**
   * Call this in the transaction of a write: it stores a new guest, or extends the expiry of a
   * known one.
   */
  keep({ guest }: BareCaller, now: number): void {
    const expiresAt = now + GUEST_LIFETIME
    if (guest?.newToken)
      this.#store.run(guest.id, hashOf(guest.newToken), now, expiresAt, expiryDay(expiresAt))
    else if (guest && this.#renew.run(expiresAt, guest.id, now).changes === 0) {
      throw new Error('the guest has expired')
    }
  }
}

export const hashOf = (token: string) => createHash('sha256').update(token).digest('base64url')
