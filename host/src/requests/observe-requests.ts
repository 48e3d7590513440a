import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { traceIdIn } from '../http/request-head.ts'
import { routeOf } from '../http/route-of.ts'
import { LogThrottle } from '../telemetry/log-throttle.ts'
import type { Tracing } from '../telemetry/tracing.ts'

export interface RequestLogOptions {
  /**
   * Log every request. Otherwise log failed (5xx) and slow requests, at most ten of a kind per
   * minute, without those that `logRefusals` logs.
   */
  readonly requests: boolean
  /** From this duration on a request is slow, in milliseconds. */
  readonly slowMs: number
}

/**
 * Logs one line per finished request, without headers and body, with the requestId of every line of
 * `request.log`. Logging all requests halves the rate of trivial ones.
 */
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
    /**
     * The trace of the request (W3C Trace Context): its own header, or the next span of it;
     * undefined without a trace.
     */
    readonly traceparent: string | undefined
  }
}

export interface TracingOptions {
  /**
   * The process's tracing. Without it the log names a trace that a client began, and nothing more.
   */
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

/** Whether a response has no set end, so that its duration means nothing. */
export function isStream(reply: FastifyReply): boolean {
  return reply.getHeader('content-type') === 'text/event-stream'
}
