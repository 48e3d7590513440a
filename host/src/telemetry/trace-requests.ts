import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Tracing } from './open-tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The trace of the request (W3C Trace Context): its own header, or the next span of it;
     * undefined without a trace.
     */
    readonly traceparent: string | undefined
  }
}

/**
 * Continues the trace of a request (W3C Trace Context). Without the process's tracing, the log names
 * a trace that a client began, and nothing more.
 */
export const tracing = fp<{ readonly tracing?: Tracing | undefined }>(async (app, { tracing }) => {
  app.decorateRequest('traceparent', {
    getter(this: FastifyRequest) {
      const { traceparent } = this.headers
      return tracing?.traceparentOf(this) ?? (traceIdIn(traceparent) && String(traceparent))
    },
  })
  await tracing?.trace(app)
})

const validTrace = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The trace id of a `traceparent` (W3C Trace Context); undefined if invalid. */
export function traceIdIn(header: unknown): string | undefined {
  const [, version, id, rest] = (typeof header === 'string' && validTrace.exec(header)) || []
  return version === '00' && rest !== undefined ? undefined : id
}
