import { hash } from 'node:crypto'
import {
  type Database,
  type Problem,
  type RouteResponse,
  respond,
  type Transaction,
} from '@mortise/module-sdk'
import { isRouteResponse } from '@mortise/module-sdk/host'
import { generatorOf } from '@mortise/storage'
import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { type GuestOptions, guestOf, recordingUserOf, unknownGuest, verifiedId } from '../callers/callers.ts'
import type { Guest, Guests } from '../callers/guests.ts'
import { mapEmissions, withTrace } from '../events/map-emissions.ts'
import {
  assertCompared,
  assertTagged,
  assertUnchanged,
  entityTag,
  isCompared,
  isResource,
  serialize,
} from '../http/conditional-requests.ts'
import { parseIdempotencyKey, refuseKey } from '../http/idempotency-key.ts'
import { http } from '../http/node-http.ts'
import { bytesOf } from '../http/request-body.ts'
import { isRead, isWrite } from '../http/request-head.ts'
import { inFormOfRoute } from '../http/send-problem.ts'
import { toProblem } from '../http/to-problem.ts'
import { routeOf } from '../telemetry/request-log.ts'
import type { Reservation, StoredResponse } from './idempotency-records.ts'
import { runIdempotent } from './run-idempotent.ts'

// The response to a write is decided, checked and serialized inside its transaction, so nothing on
// the host's side can fail after the commit. The generator may run several times; it reads the
// request and has no effects but its statements.

export interface TransactionOptions extends GuestOptions {
  readonly database: Database
  /** Prefix of a `location` that begins with a slash; '' for none. */
  readonly basePath: string
}

const kReply = Symbol('reply that a transaction may send')
const kKey = Symbol('idempotency key')

/** Provides `request.transaction`. */
export const transaction = fp<TransactionOptions>(
  async (app, options) => {
    app.decorateRequest(kReply, null)
    app.decorateRequest(kKey, null)
    app.addHook('onRequest', (request: WithReply, reply, done) => {
      request[kReply] = reply
      const { 'idempotency-key': header, 'if-match': ifMatch } = request.headers
      const { method, routeOptions } = request
      if (header !== undefined) {
        if (isRead(method) || routeOptions.config.idempotencyKey === false) refuseKey()
        if (isWrite(method)) request[kKey] = parseIdempotencyKey(header)
      }
      if (header !== undefined || ifMatch !== undefined)
        reply.raw.once('finish', () => warnUnprotected(request, reply))
      done()
    })
    app.decorateRequest('transaction', function (this: WithReply, steps, { dryRun = false } = {}) {
      return transact(this, steps, dryRun, options)
    })
  },
  {
    name: 'transaction',
    fastify: '5.x',
    dependencies: ['callers', 'request-bodies', 'conditional-requests'],
  },
)

interface WithReply extends FastifyRequest {
  /** Null during a transaction and after the commit. */
  [kReply]?: FastifyReply | null
  [kKey]?: string | null
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

type Steps = () => Transaction<unknown>

async function transact(
  request: WithReply,
  steps: Steps,
  dryRun: boolean,
  options: TransactionOptions,
): Promise<void> {
  const { database, guests, cookie, basePath } = options
  const reply = request[kReply]
  if (!reply) throw new Error('request.transaction was called twice: call it once per request')
  const guest = guestOf(request)
  if (guest && guest.origin !== 'header') cookie.assertOwnSite(request)
  // With several cookies another one may be a guest's, and the browser keeps one under our name and
  // path, so none is cleared.
  const isOnlyCookie = guest?.origin === 'cookie' && cookie.read(request).length === 1
  request[kReply] = null
  const reservation = dryRun ? undefined : reservationOf(request, basePath)
  const { traceparent } = request
  const checked = request.routeOptions.config.check?.of(steps) ?? steps
  const traced = traceparent === undefined ? checked : () => withTrace(generatorOf(checked), traceparent)
  const decideNow = () => decide(reply, guest, guests, basePath, traced)
  const decideOnce = () => notingEvent(decideNow())
  let decided: StoredResponse
  try {
    decided = reservation
      ? await runIdempotent(
          database,
          reservation,
          decideOnce,
          (error) => toProblem(error, reply.statusCode),
          (problem) => problemResponse(problem, request),
        )
      : await (dryRun ? undone(database, decideNow) : database.transaction(decideNow))
  } catch (error) {
    request[kReply] = reply
    if (!(error instanceof GuestVanished)) throw error
    // No new guest instead: the user who has just claimed the guest would lose its writes.
    if (isOnlyCookie) cookie.clear(reply)
    throw unknownGuest()
  }
  const { status, headers, text, replayed } = decided
  reply.code(status).headers(headers)
  if (replayed) {
    reply.header('idempotent-replayed', 'true')
  } else if (guest && isSuccess(status) && !dryRun) {
    if (guest.origin === 'new') reply.header('guest-token', guest.revealToken())
    if (guest.origin === 'new' || isOnlyCookie) cookie.write(reply, guest.revealToken())
  }
  // Fastify adds a charset to strings, not to bytes, and the media type of a problem has none.
  // Awaiting a reply waits until it is sent.
  await reply.send(reservation && text !== undefined ? Buffer.from(text) : text)
}

/** What a transaction would return. It is rolled back. */
async function undone<Result>(database: Database, steps: () => Transaction<Result>): Promise<Result> {
  const rolledBack = new Error('a dry run ends here')
  let result: Result | undefined
  try {
    await database.transaction(function* () {
      result = yield* steps()
      throw rolledBack
    })
  } catch (error) {
    if (error !== rolledBack) throw error
  }
  return result as Result
}

/** The guest expired or was claimed after the request began. */
class GuestVanished extends Error {}

/**
 * Undefined without a key or without a caller to own it.
 * @throws {Problem} `invalid-request` if the body cannot be compared
 */
function reservationOf(request: WithReply, basePath: string): Reservation | undefined {
  const key = request[kKey]
  if (!key) return undefined
  const caller = verifiedId(request)
  if (caller === undefined) return undefined
  const { method, url, headers, routeOptions } = request
  const asked = Buffer.from(JSON.stringify([url, headers['if-match'] ?? null]))
  const all = [asked, bytesOf(request) ?? refuseKey()].flat()
  const fingerprint = hash('sha256', Buffer.concat(all), 'base64url')
  const route = `${method} ${routeOptions.url?.slice(basePath.length)}`
  return { caller, user: recordingUserOf(request), route, key, fingerprint }
}

/** A repeat, or a write to an unseen state, would otherwise go unnoticed. */
function warnUnprotected(request: WithReply, reply: FastifyReply): void {
  const route = routeOf(request)
  if (request[kReply] === null || !isSuccess(reply.statusCode) || route.module === undefined) return
  if (request[kKey])
    request.log.warn(
      route,
      'an Idempotency-Key had no effect, because the route did not use request.transaction: end it with that, or refuse keys by config.idempotencyKey: false',
    )
  if (!isRead(request.method) && !isCompared(request))
    request.log.warn(route, 'If-Match had no effect, because the route did not use request.transaction')
}

/** Any success stores a new guest: the host cannot know whether the route changed anything. */
function* decide(
  reply: FastifyReply,
  guest: Guest | undefined,
  guests: Guests,
  basePath: string,
  steps: Steps,
): Transaction<StoredResponse> {
  if (guest && guest.origin !== 'new' && !(yield* guests.renew(guest))) throw new GuestVanished()
  yield* assertUnchanged(reply.request)
  const decided = toRouteResponse(yield* generatorOf(steps), reply)
  const { status, body } = decided
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`respond() takes a status from 200 to 599, not ${status}`)
  }
  assertDeclared(reply, status)
  if (isSuccess(status)) assertCompared(reply.request)
  const text = body === undefined ? undefined : serialize(reply, status, body)
  const headers = headersOf(decided, text, reply.request.method, basePath)
  if (guest?.origin === 'new' && isSuccess(status)) yield* guests.store(guest)
  return { status, headers, text, replayed: false }
}

/** A route that declares responses must declare 200: undeclared properties are not sent. */
function toRouteResponse(returned: unknown, { routeOptions }: FastifyReply): RouteResponse {
  if (isRouteResponse(returned)) return returned
  if (returned !== undefined && declares(routeOptions.schema?.response, 200)) return respond(200, returned)
  throw new TypeError(
    'the steps of request.transaction must return respond(status, body), or the body of a declared 200',
  )
}

/** The declared forms of each status so far, by the responses of a route. */
const declared = new WeakMap<object, Map<number, boolean>>()

/** A route without response schemas declares every status. */
function declares(responses: unknown, status: number): boolean {
  if (typeof responses !== 'object' || responses === null) return true
  const known = declared.get(responses) ?? new Map<number, boolean>()
  declared.set(responses, known)
  let declares = known.get(status)
  if (declares === undefined) {
    const forms = [`${status}`, `${Math.trunc(status / 100)}xx`, 'default']
    declares = Object.keys(responses).some((form) => forms.includes(form.toLowerCase()))
    known.set(status, declares)
  }
  return declares
}

/**
 * No schema would decide which properties of the body callers see.
 * @throws {TypeError} if a route declares responses, but none with this status
 */
function assertDeclared({ routeOptions: { method, url, schema } }: FastifyReply, status: number): void {
  if (declares(schema?.response, status)) return
  throw new TypeError(
    `${method} ${url} returns ${status}, which its schema does not declare, so nothing of it is sent: ` +
      `add ${status} to schema.response of the route, or throw a problem`,
  )
}

/** An `onSend` hook for the routes of modules: see `assertDeclared` and `assertTagged`. */
export const sendDeclared: onSendHookHandler = (request, reply, payload, done) => {
  // Every route may respond with a problem. A 304 repeats the declared 200.
  if (reply.statusCode !== 304 && !mayBeProblem(reply)) assertDeclared(reply, reply.statusCode)
  // `conditionalRequests` sees no body that is sent as it is, such as a stream.
  if (reply.statusCode === 200 && isRead(request.method)) assertTagged(request, reply)
  done(null, payload)
}

const mayBeProblem = (reply: FastifyReply) =>
  reply.routeOptions.config.problemForm === undefined
    ? reply.getHeader('content-type') === 'application/problem+json'
    : reply.statusCode >= 400

/** Records the event whose data is the response, so that it is stored once. */
function* notingEvent(steps: Transaction<StoredResponse>): Transaction<StoredResponse> {
  const ids = new Map<string, string>()
  const decided = yield* mapEmissions(steps, function* (event) {
    const written = yield { event }
    ids.set(JSON.stringify(event.data), event.id)
    return written
  })
  return { ...decided, event: decided.text === undefined ? undefined : ids.get(decided.text) }
}

/** @throws {TypeError} for an invalid header */
function headersOf(
  { status, headers, body }: RouteResponse,
  text: string | undefined,
  method: string,
  basePath: string,
) {
  const all: Record<string, string> = { ...headers }
  for (const [name, value] of Object.entries(headers)) {
    http.validateHeaderName(name)
    http.validateHeaderValue(name, value)
  }
  if (all.location?.startsWith('/')) all.location = basePath + all.location
  if (text === undefined) return all
  all['content-type'] ??= 'application/json; charset=utf-8'
  if (isSuccess(status) && method !== 'DELETE' && isResource(body)) all.etag ??= entityTag(body, text)
  return all
}

/** Matches the output of `sendProblem`. */
function problemResponse(problem: Problem, request: FastifyRequest): StoredResponse {
  const { status, contentType, text } = inFormOfRoute(problem, request)
  return { status, headers: { ...problem.headers, 'content-type': contentType }, text, replayed: false }
}
