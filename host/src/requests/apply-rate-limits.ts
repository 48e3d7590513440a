import { Socket } from 'node:net'
import { addressKey, type Problem } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import fp from 'fastify-plugin'
import { guestOf, verifiedId } from '../callers/callers.ts'
import type { ConcurrencyLimit } from '../http/limits/concurrency-limit.ts'
import { type Allowance, type LimitName, type RateLimits, WINDOW } from '../http/limits/window-counter.ts'
import type { Placed } from '../http/place.ts'
import { hostProblems } from '../http/problems.ts'
import { onBodyRead } from '../http/request-body.ts'
import { isRead } from '../http/request-head.ts'
import { tooManyAtOnce } from '../http/too-many.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Marks the host's own routes that an orchestrator must always reach. */
    unlimited?: boolean
  }
}

export interface RateLimitOptions {
  /** Undefined for no limits. */
  readonly limits: RateLimits | undefined
  /** Whether the host believes X-Forwarded-For of some proxy. */
  readonly trustsProxy: boolean
}

const refusals = {
  caller: 'You have reached your request limit per minute.',
  address: 'Your address has reached its request limit per minute.',
  'new-guests':
    'Your address has reached its limit of new guests per minute. Callers with a Guest-Token or bearer token are not affected.',
}

/**
 * Applies the address limit before anything else, so requests without a route and unverified tokens
 * count too. Register it before the routes and before `callers`.
 */
export const addressLimit = fp<RateLimitOptions>(
  async (app, { limits, trustsProxy }) => {
    if (limits === undefined) return
    const { caller, address } = limits.counters
    const policy = [`"caller";q=${caller.max}`, `"address";q=${address.max}`]
      .map((item) => `${item};w=${WINDOW / 1000}`)
      .join(', ')
    let isWarned = false
    app.addHook('onRequest', (request, reply, done) => {
      if (request.routeOptions.config.unlimited === true || isOwn(request)) return done()
      const key = addressKey(request.ip)
      const allowance = limits.take('address', key)
      reply.header('ratelimit-policy', policy).header('ratelimit', inWords('address', allowance))
      if (allowance.isSpent) {
        const isShared = trustsProxy ? key === 'unknown' : request.headers['x-forwarded-for'] !== undefined
        if (isShared && !isWarned) {
          isWarned = true
          app.log.warn(
            trustsProxy
              ? `all callers whose X-Forwarded-For is not an IP address, such as ${request.ip}, share one rate limit: configure your proxy to send addresses`
              : `all callers behind ${request.ip} share one rate limit: if it is your proxy, add it to server.trustProxy`,
          )
        }
        throw refused(refusals.address, allowance)
      }
      done()
    })
  },
  { name: 'address-limit', fastify: '5.x' },
)

interface WithGuest extends FastifyRequest {
  /** The request was counted as one of a new guest. */
  [kNewGuest]?: boolean
}

const kNewGuest = Symbol('counted as that of a new guest')

/**
 * Applies the limit of each caller, and for each address the limit of new guests: clients that
 * would become new guests by a write without credentials. A request that made no guest does not count
 * as one. Register it after `callers`.
 */
export const callerLimit = fp<Pick<RateLimitOptions, 'limits'>>(
  async (app, { limits }) => {
    if (limits === undefined) return
    app.decorateRequest(kNewGuest, false)
    app.addHook('onRequest', (request: WithGuest, reply, done) => {
      if (request.routeOptions.config.access === 'public' || isOwn(request)) return done()
      if (guestOf(request)?.origin === 'new') {
        if (isRead(request.method)) return done()
        const allowance = limits.reserve('new-guests', addressKey(request.ip))
        if (allowance.isSpent) throw refused(refusals['new-guests'], allowance)
        request[kNewGuest] = true
        return done()
      }
      const allowance = limits.take('caller', request.caller.id)
      reply.header('ratelimit', `${inWords('caller', allowance)}, ${reply.getHeader('ratelimit')}`)
      if (allowance.isSpent) throw refused(refusals.caller, allowance)
      done()
    })
    app.addHook('onResponse', (request: WithGuest, reply, done) => {
      // A new guest gets its token as a cookie too.
      const isGuest = reply.statusCode < 300 && reply.hasHeader('set-cookie')
      if (request[kNewGuest] === true) limits.settle('new-guests', addressKey(request.ip), isGuest)
      done()
    })
  },
  { name: 'caller-limit', fastify: '5.x', dependencies: ['callers'] },
)

/** Whether the request comes from the host itself, by `inject`. */
const isOwn = ({ socket }: FastifyRequest) => !(socket instanceof Socket)

/** An item of `RateLimit`. */
const inWords = (name: LimitName, { remaining, seconds }: Allowance) =>
  `"${name}";r=${remaining};t=${seconds}`

function refused(reason: string, { seconds }: Allowance): Problem {
  return hostProblems.create('rate-limited', `${reason} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}

/**
 * Limits the bytes of request bodies per address and per caller, and so what strangers can have
 * stored. A body with a Content-Length counts before it is read. A chunked body counts after it is
 * read and before it is parsed; one that is too large or breaks off counts for the bytes read.
 * Bodies of GET and HEAD are always refused and not counted. Register it after `callerLimit` and
 * before the routes.
 */
export const byteLimit = fp<Pick<RateLimitOptions, 'limits'>>(
  async (app, { limits }) => {
    if (limits === undefined) return
    app.addHook('onRoute', (route) => {
      if ([route.method].flat().every(isRead)) return
      route.preParsing = [
        (request, reply, payload, done) => {
          const { 'content-length': length, 'transfer-encoding': coding } = request.headers
          if (isOwn(request)) return done(null, payload)
          if (coding === undefined) hold(limits, request, reply, Number(length ?? 0))
          else holdChunked(limits, request, reply)
          done(null, payload)
        },
        ...[route.preParsing ?? []].flat(),
      ]
    })
  },
  { name: 'byte-limit', fastify: '5.x', dependencies: ['caller-limit', 'request-bodies'] },
)

function holdChunked(limits: RateLimits, request: FastifyRequest, reply: FastifyReply): void {
  const { socket, routeOptions } = request
  const before = socket.bytesRead
  let isCounted = false
  onBodyRead(request, (bytes) => {
    isCounted = true
    hold(limits, request, reply, bytes)
  })
  // Leaves out bytes that came with the head: 64 KiB at most.
  reply.raw.once('close', () => {
    if (!isCounted) take(limits, request, Math.min(socket.bytesRead - before, routeOptions.bodyLimit))
  })
}

/** @throws {Problem} `rate-limited`; nothing is counted then */
function hold(limits: RateLimits, request: FastifyRequest, reply: FastifyReply, bytes: number): void {
  // A body too large for any request gets 413 unread.
  if (bytes === 0 || bytes > request.routeOptions.bodyLimit) return
  let problem: Error | undefined
  let policy = `${reply.getHeader('ratelimit-policy')}`
  let left = `${reply.getHeader('ratelimit')}`
  for (const [name, allowance] of take(limits, request, bytes)) {
    policy += `, "${name}";q=${limits.counters[name].max};w=${WINDOW / 1000};qu="content-bytes"`
    left += `, ${inWords(name, allowance)}`
    if (!allowance.isSpent) continue
    const reason = `The body has ${bytes} bytes, and ${whose[name]} may send ${limits.counters[name].max} per minute.`
    problem = refused(`${reason} Send a smaller body.`, allowance)
  }
  reply.header('ratelimit-policy', policy).header('ratelimit', left)
  if (problem !== undefined) throw problem
}

/** For the address and the caller, or for neither if one of them has too little left. */
function take(limits: RateLimits, request: FastifyRequest, bytes: number): [ByteLimit, Allowance][] {
  const address = addressKey(request.ip)
  const caller = verifiedId(request)
  const ofAddress = limits.take('address-bytes', address, bytes)
  if (ofAddress.isSpent || caller === undefined) return [['address-bytes', ofAddress]]
  const ofCaller = limits.take('caller-bytes', caller, bytes)
  const returned = ofCaller.isSpent ? bytes : 0
  if (returned > 0) limits.giveBack('address-bytes', address, returned)
  return [
    ['address-bytes', { ...ofAddress, remaining: ofAddress.remaining + returned }],
    ['caller-bytes', ofCaller],
  ]
}

type ByteLimit = keyof typeof whose

const whose = { 'caller-bytes': 'a caller', 'address-bytes': 'an address' } as const

export interface ForwardedSharesOptions {
  /** The limits per address for connections, and for requests that a proxy forwards. */
  readonly shares: ConcurrencyLimit | undefined
}

/** A proxy's connections have no limit, so the requests that it forwards have one. */
export const forwardedLimit = fp<ForwardedSharesOptions>(
  async (app, { shares }) => {
    if (shares === undefined) return
    app.addHook('onRequest', (request, reply, done) => {
      const { ip, socket } = request
      // Without a forwarded address the request is the proxy's own.
      if (ip === socket.remoteAddress || request.routeOptions.config.unlimited === true || isOwn(request))
        return done()
      const giveBack = shares.take(addressKey(ip))
      if (giveBack === undefined) throw tooManyAtOnce(shares.most)
      reply.raw.once('close', giveBack)
      done()
    })
  },
  { name: 'forwarded-shares', fastify: '5.x' },
)

/** Lets a request of a module begin when it is within the module's share of the requests in progress. */
export const moduleShares = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const { module } = request.routeOptions.config
      const { place } = reply.raw as Placed
      if (module !== undefined) (reply.raw as Placed).reply = reply
      if (module === undefined || place === undefined || place.enter(module)) done()
      else waitFor(place, module, reply, done)
    })
  },
  { name: 'module-shares', fastify: '5.x' },
)

/** Apart from the hook, which so makes no closure for a request that need not wait. */
function waitFor(
  place: NonNullable<Placed['place']>,
  module: string,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  place.wait(module, (problem) => {
    // The log has a line for all of them.
    reply.refused ||= problem !== undefined
    done(problem)
  })
}
