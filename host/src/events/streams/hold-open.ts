import { Problem, type StreamLimits, streamProblems } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { guestOf, verifiedId } from '../../callers/callers.ts'
import type { Response } from '../../http/place.ts'
import { LIMITS, type StreamCounts, type StreamOwner } from './stream-counts.ts'

interface Options {
  readonly counts: StreamCounts
}

/** The `Retry-After` of a refused stream, in seconds. */
const RETRY_AFTER = '10'

/**
 * Provides `reply.holdOpen`. For a response that stays open without it, `LongResponses` calls it.
 */
export const holdOpen = fp<Options>(
  async (app, { counts }) => {
    app.decorateReply('holdOpen', function (this: FastifyReply, limits: Partial<StreamLimits> = {}) {
      const { request, raw } = this
      if ((raw as Response<never>).isHeld) return
      const place = counts.take(ownerOf(request), { ...LIMITS, ...limits })
      if (typeof place === 'function') {
        Object.assign(raw, { isHeld: true }).once('close', place)
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
