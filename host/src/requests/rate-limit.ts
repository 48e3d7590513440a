import { Socket } from 'node:net'
import { addressKey, type Problem } from '@mortise/module-sdk'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { guestOf } from '../callers/callers.ts'
import { isRead } from '../http/is-read.ts'
import type { LimitName, RateLimits } from '../http/limits/rate-limits.ts'
import { type Allowance, WINDOW } from '../http/limits/window-counter.ts'
import { hostProblems } from '../http/problems.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of the host's own routes, those that an orchestrator must always reach. */
    unlimited?: boolean
  }
}

export interface RateLimitOptions {
  /** Undefined: there are none. */
  readonly limits: RateLimits | undefined
  /** Whether X-Forwarded-For of some proxy is believed. */
  readonly trustsProxy: boolean
}

const refusals = {
  caller: 'You have sent as many requests as anybody may send in a minute.',
  address: 'Your address has sent as many requests as any address may send in a minute.',
  'new-guests':
    'As many new guests came from your address as may come in a minute. Who has a Guest-Token, or is signed in, may go on.',
}

/**
 * Holds each address to its limit, before anything is looked at: what finds no route counts, and so does a token before
 * it is verified. To be registered before the routes and before `callers`.
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
              ? `all callers whose X-Forwarded-For is no IP address, such as ${request.ip}, share one rate limit: have your proxy send addresses`
              : `all callers behind ${request.ip} share one rate limit: if it is your proxy, name it in server.trustProxy`,
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
  /** Whether it has been counted as that of a new guest. */
  [kNewGuest]?: boolean
}

const kNewGuest = Symbol('counted as that of a new guest')

/**
 * Holds each caller to their limit, and each address to that of new guests: whom a write without credentials would make
 * one, which is not counted where it fails. To be registered after `callers`.
 */
export const callerLimit = fp<Pick<RateLimitOptions, 'limits'>>(
  async (app, { limits }) => {
    if (limits === undefined) return
    app.decorateRequest(kNewGuest, false)
    app.addHook('onRequest', (request: WithGuest, reply, done) => {
      if (request.routeOptions.config.access === 'public' || isOwn(request)) return done()
      if (guestOf(request)?.origin === 'new') {
        if (isRead(request.method)) return done()
        const allowance = limits.take('new-guests', addressKey(request.ip))
        if (allowance.isSpent) throw refused(refusals['new-guests'], allowance)
        request[kNewGuest] = true
        return done()
      }
      const allowance = limits.take('caller', request.caller.id)
      reply.header('ratelimit', `${inWords('caller', allowance)}, ${reply.getHeader('ratelimit')}`)
      if (allowance.isSpent) throw refused(refusals.caller, allowance)
      done()
    })
    app.addHook('onResponse', (request: WithGuest, { statusCode }, done) => {
      if (request[kNewGuest] === true && statusCode >= 300)
        limits.giveBack('new-guests', addressKey(request.ip))
      done()
    })
  },
  { name: 'caller-limit', fastify: '5.x', dependencies: ['callers'] },
)

/** Whether the host asks itself, by `inject`. */
export const isOwn = ({ socket }: FastifyRequest) => !(socket instanceof Socket)

/** An item of `RateLimit`. */
export const inWords = (name: LimitName, { remaining, seconds }: Allowance) =>
  `"${name}";r=${remaining};t=${seconds}`

export function refused(reason: string, { seconds }: Allowance): Problem {
  return hostProblems.create('rate-limited', `${reason} Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
