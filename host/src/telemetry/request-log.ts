import type { Config } from '@mortise/application'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import fp from 'fastify-plugin'
import { LogThrottle } from './log-throttle.ts'
import { traceIdIn } from './trace-requests.ts'

/**
 * Logs one line per finished request, without headers and body, with the requestId of every line of
 * `request.log`: for every request if `requests` is set, which halves the rate of trivial ones.
 * Otherwise for failed (5xx) and slow requests, at most ten of a kind per minute, without those
 * that `logRefusals` logs.
 */
export const requestLog = fp<Pick<Config['log'], 'requests' | 'slowMs'>>(
  async (app, { requests, slowMs }) => {
    const alike = new LogThrottle((line) =>
      app.log.warn(line, 'more requests failed or were slow in the same way'),
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
)

type ChildOptions = Parameters<FastifyBaseLogger['child']>[1]

/** `request.log`, whose logger is made for the first line: most requests write none. */
class LazyLogger {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Record<string, unknown>
  readonly #options: ChildOptions
  #made: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, bindings: Record<string, unknown>, options: ChildOptions) {
    this.#parent = parent
    this.#bindings = bindings
    this.#options = options
  }

  get made(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings, this.#options)
    return this.#made
  }

  get level(): string {
    return this.made.level
  }

  set level(level: string) {
    this.made.level = level
  }
}

/** Fastify's methods of a logger, and the rest of pino's. */
const METHODS = [
  ...['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent', 'child'],
  ...['isLevelEnabled', 'bindings', 'setBindings', 'flush'],
]

for (const name of METHODS) {
  Object.defineProperty(LazyLogger.prototype, name, {
    value(this: LazyLogger, ...values: unknown[]) {
      return (this.made as unknown as Record<string, (...values: unknown[]) => unknown>)[name]?.(...values)
    },
  })
}

/** Fastify's factory for `request.log`. */
export const lazyLogger: NonNullable<FastifyServerOptions['childLoggerFactory']> = (
  parent,
  bindings,
  options,
) => new LazyLogger(parent, bindings, options) as never

/** Whether a response has no set end, so that its duration means nothing. */
export const isStream = (reply: FastifyReply): boolean =>
  reply.getHeader('content-type') === 'text/event-stream'

/**
 * The route and trace of a request for a log line: `{ module: 'api-cart', route: 'GET
 * /cart/item/:id' }`.
 */
export function routeOf({ method, routeOptions, traceparent }: FastifyRequest) {
  const { config, url } = routeOptions
  const traceId = traceIdIn(traceparent)
  return {
    ...(config?.module && { module: config.module }),
    ...(url && { route: `${method} ${url}` }),
    ...(traceId && { traceId }),
  }
}
