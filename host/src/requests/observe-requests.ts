import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { traceIdIn } from '../http/request-head.ts'
import { routeOf } from '../http/route-of.ts'
import { LogThrottle } from '../telemetry/log-throttle.ts'
import type { Tracing } from '../telemetry/tracing.ts'

export interface RequestLogOptions {
  /** Log every request; otherwise those that failed (5xx) or were slow: ten of a kind in a minute. Not what `logRefusals` tells. */
  readonly requests: boolean
  /** A request is slow from here on, in milliseconds. */
  readonly slowMs: number
}

/** One line for a finished request, with the requestId of every line of `request.log`; without headers and body. Logging all of them halves a trivial request. */
export const requestLog = fp<RequestLogOptions>(
  async (app, { requests, slowMs }) => {
    const alike = new LogThrottle((line) =>
      app.log.warn(line, 'requests failed or were slow in the same way'),
    )
    app.addHook('onClose', async () => alike.close())
    app.addHook('onResponse', (request, reply, done) => {
      const { elapsedTime, statusCode } = reply
      const failed = statusCode >= 500 && reply.refused !== true
      const noteworthy = failed || (reply.refused !== true && elapsedTime >= slowMs && !isStream(reply))
      if (!noteworthy && !requests) return done()
      const line = {
        ...routeOf(request),
        method: request.method,
        url: request.url,
        status: statusCode,
        ms: Math.round(elapsedTime * 10) / 10,
        ip: request.ip,
      }
      const kind = [line.route, failed ? statusCode : 'slow', request.problem].join(' ')
      if (!noteworthy) request.log.info(line, 'request')
      else if (requests || alike.admits(kind, line))
        request.log.warn(line, failed ? 'request failed' : 'request was slow')
      done()
    })
  },
  { name: 'request-log', fastify: '5.x' },
)

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace that it belongs to (W3C Trace Context): its own header's, or the next step of it; undefined where there is none. */
    readonly traceparent: string | undefined
  }
}

export interface TracingOptions {
  /** That of the process; without, a trace that somebody else has begun is named in the log, and no more. */
  readonly tracing?: Tracing | undefined
}

/** Continues the trace of a request (W3C Trace Context). */
export const tracing = fp<TracingOptions>(
  async (app, { tracing }) => {
    app.decorateRequest('traceparent', {
      getter(this: FastifyRequest) {
        const { traceparent } = this.headers
        return tracing?.traceparentOf(this) ?? (traceIdIn(traceparent) && String(traceparent))
      },
    })
    await tracing?.trace(app)
  },
  { name: 'tracing', fastify: '5.x' },
)

/** Whether an answer goes on for as long as both sides like, so that the time it took says nothing. */
export function isStream(reply: FastifyReply): boolean {
  return reply.getHeader('content-type') === 'text/event-stream'
}
