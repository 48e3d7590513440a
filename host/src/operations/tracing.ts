import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { traceIdIn } from '../http/trace-parent.ts'
import type { Tracing } from '../tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace that it belongs to: that of its `traceparent`, or a new one; undefined where there is none. */
    readonly traceId: string | undefined
  }
}

export interface TracingOptions {
  /** That of the process; without, a trace that somebody else has begun is named in the log, and no more. */
  readonly tracing?: Tracing | undefined
}

/** Continues the trace of a request (W3C Trace Context). */
export const tracing = fp<TracingOptions>(
  async (app, { tracing }) => {
    app.decorateRequest('traceId', {
      getter(this: FastifyRequest) {
        return tracing?.traceIdOf(this) ?? traceIdIn(this.headers.traceparent)
      },
    })
    await tracing?.trace(app)
  },
  { name: 'tracing', fastify: '5.x' },
)
