import { Problem, type StreamLimits, streamProblems } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { guestOf, verifiedId } from '../../callers/callers.ts'
import type { TokenVerifier } from '../../callers/token-verifier.ts'
import type { Response } from '../../http/place.ts'
import { LIMITS, type StreamCounts, type StreamOwner } from './stream-counts.ts'

interface Options {
  readonly counts: StreamCounts
  readonly tokens: Pick<TokenVerifier, 'onReplace' | 'trusts'>
}

/** The `Retry-After` of a refused stream, in seconds. */
const RETRY_AFTER = '10'

/**
 * Provides `reply.holdOpen`. For a response that stays open without it, `LongResponses` calls it.
 * A response ends with the credentials that it began with: they are checked now and then, and at once
 * when the host verifies with other secrets.
 */
export const holdOpen = fp<Options>(
  async (app, { counts, tokens }) => {
    app.decorateReply('holdOpen', function (this: FastifyReply, limits: Partial<StreamLimits> = {}) {
      const { request, raw } = this
      if ((raw as Response<never>).isHeld) return
      const wanted = { ...LIMITS, ...limits }
      const place = counts.take(ownerOf(request), wanted)
      if (typeof place === 'function') {
        Object.assign(raw, { isHeld: true }).once('close', place)
        // A new guest has shown none, nor has the caller of a public route.
        if (verifiedId(request) !== undefined) endWithCredentials(this, wanted.heartbeatSeconds, tokens)
        return
      }
      const { code, detail } = place
      const { module = 'host' } = request.routeOptions.config
      throw new Problem(
        module,
        code,
        streamProblems[code],
        `${detail}. Close one, or try again in ${RETRY_AFTER} s.`,
        { headers: { 'retry-after': RETRY_AFTER } },
      )
    })
  },
  { name: 'hold-open', fastify: '5.x', dependencies: ['callers'] },
)

/** Without a caller, as on a public route, the address alone counts. */
const ownerOf = (request: FastifyRequest): StreamOwner => {
  const id = verifiedId(request)
  return { id, isGuest: id === undefined || guestOf(request) !== undefined, address: request.ip }
}

function endWithCredentials(reply: FastifyReply, seconds: number, tokens: Options['tokens']): void {
  const { request, raw } = reply
  const { proof } = request.caller
  // A download may outlast its token, though not the secret that proved it.
  const hold = () =>
    proof !== undefined && isDownload(reply) ? tokens.trusts(proof) : request.credentialsHold()
  const check = () =>
    hold().then(
      (isTrue) => isTrue || end(reply),
      // They cannot be checked now: the next time.
      () => {},
    )
  const ignore = tokens.onReplace(check)
  const timer = setInterval(check, seconds * 1000).unref()
  check()
  raw.once('close', () => {
    ignore()
    clearInterval(timer)
  })
}

const isDownload = (reply: FastifyReply) => {
  const type = reply.getHeader('content-type')
  return type !== undefined && !isEventStream(type)
}

const isEventStream = (type: unknown) => String(type).startsWith('text/event-stream')

/** A stream of events ends in good order; what has an end of its own is cut off. */
function end(reply: FastifyReply): void {
  const { raw } = reply
  if (raw.headersSent && isEventStream(reply.getHeader('content-type'))) raw.end()
  else raw.destroy()
}
