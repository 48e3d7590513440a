import { createHash, randomBytes } from 'node:crypto'
import {
  type Audit,
  currentTime,
  type Database,
  expiryDay,
  type ModuleContext,
  maybeOne,
  run,
  type SignedIn,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem } from './module.ts'
import type { Settings } from './settings.ts'

/** A sign-in is fresh enough for a change for this long, in milliseconds. */
const FRESH = 5 * 60_000
/** How often the last request of a session is stored, in milliseconds. */
const SEEN_EVERY = 30_000
const COOKIE = '__Host-console'

interface Row {
  readonly id: string
  readonly caller: string
  /** JSON. */
  readonly scopes: string
  /** What verified the token of the sign-in. */
  readonly proof: string
  readonly signedInAt: number
  readonly seenAt: number
  readonly expiresAt: number
}

export interface Session {
  /** The SHA-256 of what the cookie has. */
  readonly id: string
  readonly user: Pick<SignedIn, 'id' | 'scopes' | 'proof'>
  /** Epoch milliseconds, as all times here. */
  readonly signedInAt: number
  readonly freshUntil: number
  readonly idleUntil: number
}

/**
 * Sessions of browsers. Only the browser has the secret: a row has its hash. A session holds where and while
 * the host trusts what verified the token of the sign-in.
 */
export class Sessions {
  readonly #database: Database
  readonly #trusts: ModuleContext['trusts']
  readonly #idle: number
  readonly #longest: number

  constructor(database: Database, trusts: ModuleContext['trusts'], { idleMinutes, sessionHours }: Settings) {
    this.#database = database
    this.#trusts = trusts
    this.#idle = idleMinutes * 60_000
    this.#longest = sessionHours * 3_600_000
  }

  /**
   * Begins a session, and ends the one that the browser had.
   * @param outlivesToken whether it stays when the token expires: that of a link, which is valid for a minute
   * @param before the first steps of the transaction
   */
  async begin(
    request: FastifyRequest,
    reply: FastifyReply,
    user: SignedIn,
    { outlivesToken = false, before }: { outlivesToken?: boolean; before?: () => Transaction<void> } = {},
  ): Promise<Session> {
    const secret = randomBytes(32).toString('base64url')
    const previous = secretOf(request)
    const [id, longest] = [hashOf(secret), this.#longest]
    const row = await this.#database.transaction(function* () {
      if (before !== undefined) yield* before()
      if (previous !== undefined) yield* run(sql`DELETE FROM console_session WHERE id = ${hashOf(previous)}`)
      const now = currentTime()
      const expiresAt = Math.min(now + longest, outlivesToken ? Infinity : user.expiresAt)
      const scopes = JSON.stringify(user.scopes)
      yield* run(sql`
        INSERT INTO console_session (id, caller, scopes, proof, signed_in_at, seen_at, expires_at, expiry_day)
        VALUES (${id}, ${user.id}, ${scopes}, ${user.proof}, ${now}, ${now}, ${expiresAt}, ${expiryDay(expiresAt)})`)
      return { id, caller: user.id, scopes, proof: user.proof, signedInAt: now, seenAt: now, expiresAt }
    })
    reply.header('set-cookie', `${COOKIE}=${secret}; Path=/; Secure; HttpOnly; SameSite=Strict`)
    return this.#sessionOf(row)
  }

  /**
   * The session of a request. Requests that the page sends by itself (`X-Console: poll`) do not keep
   * it from becoming idle.
   * @throws {Problem} `not-signed-in`
   */
  async of(request: FastifyRequest): Promise<Session> {
    const secret = secretOf(request)
    if (secret === undefined) throw problem('not-signed-in')
    const id = hashOf(secret)
    const row = await this.#database.maybeOne<Row>(rowOf(id))
    const now = currentTime()
    if (row === undefined || now >= row.expiresAt || now >= row.seenAt + this.#idle)
      throw problem('not-signed-in')
    if (!(await this.#trusts(row.proof))) throw problem('not-signed-in')
    if (request.headers['x-console'] === 'poll' || now < row.seenAt + SEEN_EVERY) return this.#sessionOf(row)
    await this.#database.transaction(() =>
      run(sql`UPDATE console_session SET seen_at = ${now} WHERE id = ${id} AND seen_at < ${now}`),
    )
    return this.#sessionOf({ ...row, seenAt: now })
  }

  /** Ends it for everybody who has the cookie. */
  async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const secret = secretOf(request)
    if (secret !== undefined)
      await this.#database.transaction(() =>
        run(sql`DELETE FROM console_session WHERE id = ${hashOf(secret)}`),
      )
    forget(reply)
  }

  /** Ends everybody's. */
  async endAll(reply: FastifyReply, { user }: Session, audit: Audit): Promise<void> {
    await this.#database.transaction(function* () {
      const sessions = yield* run(sql`DELETE FROM console_session`)
      const details = { caller: user.id, sessions }
      yield* audit({ action: 'console.end-all', object: 'console sessions', details })
    })
    forget(reply)
  }

  #sessionOf({ id, caller, scopes, proof, signedInAt, seenAt, expiresAt }: Row): Session {
    return {
      id,
      user: { id: caller, scopes: JSON.parse(scopes), proof },
      signedInAt,
      freshUntil: signedInAt + FRESH,
      idleUntil: Math.min(seenAt + this.#idle, expiresAt),
    }
  }
}

/**
 * Uses a one-time link up, by its `jti`, until its token has expired: the same token may have other
 * spellings, but no other `jti`.
 * @throws {Problem} `link-not-valid` if it has been used, or has no `jti`
 */
export function* useLink({ id: caller, tokenId, expiresAt }: SignedIn): Transaction<void> {
  if (tokenId === undefined) throw problem('link-not-valid')
  const id = hashOf(`${caller} ${tokenId}`)
  const used = yield* maybeOne(sql`SELECT id FROM console_link WHERE id = ${id}`)
  const added =
    used === undefined
      ? yield* run(sql`
          INSERT INTO console_link (id, expires_at, expiry_day)
          VALUES (${id}, ${expiresAt}, ${expiryDay(expiresAt)}) ON CONFLICT DO NOTHING`)
      : 0
  if (added === 0) throw problem('link-not-valid')
}

const rowOf = (id: string) => sql`
  SELECT id, caller, scopes, proof, signed_in_at AS "signedInAt", seen_at AS "seenAt", expires_at AS "expiresAt"
  FROM console_session WHERE id = ${id}`

const forget = (reply: FastifyReply) =>
  reply.header('set-cookie', `${COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0`)

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex')

function secretOf({ headers: { cookie = '' } }: FastifyRequest): string | undefined {
  return new RegExp(`(?:^|; *)${COOKIE}=([\\w-]{43})(?:;|$)`).exec(cookie)?.[1]
}
