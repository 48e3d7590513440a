import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { traceIdIn } from '../http/trace-parent.ts'
import type { Tracing } from '../telemetry/tracing.ts'

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
