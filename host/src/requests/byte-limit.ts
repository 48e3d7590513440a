import { addressKey } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { provenId } from '../callers/callers.ts'
import { isRead } from '../http/is-read.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import { type Allowance, WINDOW } from '../http/limits/window-counter.ts'
import { onBodyRead } from '../http/request-bodies.ts'
import { inWords, isOwn, type RateLimitOptions, refused } from './rate-limit.ts'

/**
 * Holds each address and each caller to so many bytes of bodies: what strangers can have stored. A body that says its
 * length is counted before it is read; a chunked one once it has been read, before it is looked at, and as far as it was
 * read where it is too large or breaks off. Those of GET and HEAD are always refused, and not counted. To be
 * registered after `callerLimit`, and before the routes.
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
  // What came with the head is missing here: 64 KiB at most.
  reply.raw.once('close', () => {
    if (!isCounted) take(limits, request, Math.min(socket.bytesRead - before, routeOptions.bodyLimit))
  })
}

/** Takes the bytes and says so in the answer. @throws {Problem} `rate-limited`, where nothing is counted */
function hold(limits: RateLimits, request: FastifyRequest, reply: FastifyReply, bytes: number): void {
  // What is too large for any request is 413, unread.
  if (bytes === 0 || bytes > request.routeOptions.bodyLimit) return
  let problem: Error | undefined
  for (const [name, allowance] of take(limits, request, bytes)) {
    const { max } = limits.counters[name]
    append(reply, 'ratelimit-policy', `"${name}";q=${max};w=${WINDOW / 1000};qu="content-bytes"`)
    append(reply, 'ratelimit', inWords(name, allowance))
    if (!allowance.isSpent) continue
    const reason = `The body has ${bytes} bytes, more than is left of the ${max} that ${whose[name]} may send in a minute.`
    problem = refused(`${reason} Send less at once.`, allowance)
  }
  if (problem !== undefined) throw problem
}

/** Counts for the address and the caller, or, where one of them has too little left, for none; answers what is left. */
function take(limits: RateLimits, request: FastifyRequest, bytes: number): [ByteLimit, Allowance][] {
  const address = addressKey(request.ip)
  const caller = provenId(request)
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

const whose = { 'caller-bytes': 'anybody', 'address-bytes': 'any address' } as const

const append = (reply: FastifyReply, name: string, item: string) =>
  reply.header(name, `${reply.getHeader(name)}, ${item}`)
