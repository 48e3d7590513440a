import cookies from '@fastify/cookie'
import { type Access, type Caller, Problem } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { hostProblems } from '../http/problems.ts'
import { isRead } from '../http/request-head.ts'
import { writeProblem } from '../http/send-problem.ts'
import { toProblem } from '../http/to-problem.ts'
import { bearerToken, insufficientScope, invalidToken, signInNeeded } from './bearer.ts'
import type { GuestCookie } from './guest-cookie.ts'
import { Guest, type Guests } from './guests.ts'
import { ScopeRecordingUser } from './scope-recording-user.ts'
import type { TokenVerifier } from './token-verifier.ts'
import type { User } from './user.ts'

// The caller is decided once, before any of the request's body is read. Invalid credentials are
// refused, never ignored; the guest cookie is the only exception, because a browser cannot drop it
// by itself. A caller's identity never changes: with several identities it is the user of the
// token, else the guest of the header, else the guest of the cookie.

export interface GuestOptions {
  readonly guests: Guests
  readonly cookie: GuestCookie
}

export interface CallersOptions extends GuestOptions {
  readonly tokens: TokenVerifier
}

const kCaller = Symbol('caller')

/** Provides `request.caller` and enforces every route's `config.access`. */
export const callers = fp<CallersOptions>(
  async (app, options) => {
    await app.register(cookies, { hook: false })
    app.decorateRequest(kCaller, null)
    app.decorateRequest('caller', { getter: callerOf } as never)

    app.decorateRequest('credentialsHold', function () {
      return holds(this, options)
    })

    // Not async: a known token is handled in the same turn.
    app.addHook('onRequest', (request, reply, done) => {
      if (request.is404) return done()
      const { access, url } = request.routeOptions.config
      if (access === 'public') return done()
      if (access === undefined)
        return done(
          new Error(`the route ${url} was registered before accessRules: register accessRules first`),
        )
      const identified = identify(request, reply, access, options)
      if (!(identified instanceof Promise)) {
        settle(request, identified, access)
        return done()
      }
      identified.then((caller) => settle(request, caller, access)).then(() => done(), done)
    })

    // A claim between the check of the token and the read of the guest's data would show data that
    // seems empty.
    app.addHook('onSend', (request, reply, payload, done) => {
      const guest = guestOf(request)
      const isShown = reply.statusCode < 400 || reply.statusCode === 404
      if (guest?.origin !== 'header' || !isRead(request.method) || !isShown) return done(null, payload)
      const checked = options.guests.isStill(guest).then((isStill) => isStill || unknownGuest(), toProblem)
      checked.then((problem) => {
        if (problem === true) return done(null, payload)
        done(null, writeProblem(problem, reply.removeHeader('etag').removeHeader('link')))
      })
    })
  },
  { name: 'callers', fastify: '5.x' },
)

/** The guest of the request; undefined for a user and on a public route. */
export function guestOf(request: FastifyRequest): Guest | undefined {
  const caller = (request as WithCaller)[kCaller]
  return caller instanceof Guest ? caller : undefined
}

/** The id of a caller with credentials; undefined for a new guest and on a public route. */
export function verifiedId(request: FastifyRequest): string | undefined {
  const caller = (request as WithCaller)[kCaller]
  return caller instanceof Guest && caller.origin === 'new' ? undefined : caller?.id
}

/** The user of a request with an Idempotency-Key. */
export function recordingUserOf(request: FastifyRequest): ScopeRecordingUser | undefined {
  const caller = (request as WithCaller)[kCaller]
  return caller instanceof ScopeRecordingUser ? caller : undefined
}

/** 401: the token of no guest, or no longer one. */
export function unknownGuest(): Problem {
  return hostProblems.create(
    'unauthorized',
    'The Guest-Token is unknown or expired, or its guest has signed in; nothing was done. Send the token of the user, get a new one with POST /guest, or send none to become a new guest.',
    { headers: { 'www-authenticate': 'Bearer' } },
  )
}

/** 401: the header is there, and the token is not. */
function emptyGuestToken(): Problem {
  return hostProblems.create(
    'unauthorized',
    'The header Guest-Token is empty; nothing was done. A variable may be empty: send the token of POST /guest, or no such header to become a new guest.',
    { headers: { 'www-authenticate': 'Bearer' } },
  )
}

interface WithCaller extends FastifyRequest {
  [kCaller]?: Caller | null
}

function callerOf(this: WithCaller): Caller {
  const caller = this[kCaller]
  if (caller) return caller
  throw new Error(
    `request.caller is not available on the public route ${this.method} ${this.routeOptions.url}: ` +
      "give the route config: { access: 'caller' } or a scope",
  )
}

function identify(
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  { tokens, guests, cookie }: CallersOptions,
): User | Guest | Promise<User | Guest> {
  const { authorization, 'guest-token': header } = request.headers
  if (authorization !== undefined) {
    if (hasTwoTokens(request.raw.rawHeaders)) throw invalidToken('the request has two Authorization headers')
    return tokens.verify(bearerToken(authorization))
  }
  if (access !== 'caller') throw signInNeeded(access)
  if (header !== undefined) {
    const token = String(header)
    if (token === '') throw emptyGuestToken()
    // A read is checked again before it is shown: the caller must still be a guest after it.
    return (isRead(request.method) && guests.remember(token, 'header')) || guestOfHeader(token, guests)
  }
  const values = cookie.read(request)
  return values.length === 0 ? guests.create() : guestOfCookie(values, reply, guests, cookie)
}

async function guestOfHeader(token: string, guests: Guests): Promise<Guest> {
  const guest = await guests.find(token, 'header')
  if (!guest) throw unknownGuest()
  return guest
}

async function guestOfCookie(
  values: readonly string[],
  reply: FastifyReply,
  guests: Guests,
  cookie: GuestCookie,
): Promise<Guest> {
  const guest = await guests.findFirst(values)
  if (guest) return guest
  cookie.clear(reply)
  return guests.create()
}

/** From the cache until it expires; a guest costs one read. @throws {Problem} 503 */
async function holds(request: FastifyRequest, { tokens, guests }: CallersOptions): Promise<boolean> {
  const { authorization } = request.headers
  const guest = guestOf(request)
  if (guest) return guest.origin !== 'new' && guests.isStill(guest)
  if (authorization === undefined) return false
  try {
    await tokens.verify(bearerToken(authorization))
    return true
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return false
    throw error
  }
}

function settle(request: FastifyRequest, caller: User | Guest, access: Access): void {
  if (access !== 'caller' && !caller.has(access)) throw insufficientScope(access)
  const isNoted = request.headers['idempotency-key'] !== undefined && !(caller instanceof Guest)
  ;(request as WithCaller)[kCaller] = isNoted ? new ScopeRecordingUser(caller) : caller
}

/** Node keeps the first of several Authorization headers; a proxy may have used the last. */
function hasTwoTokens(rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 'authorization'.length && name.toLowerCase() === 'authorization') count += 1
  }
  return count > 1
}
