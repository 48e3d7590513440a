import type { StorageObserver } from '@mortise/storage'
import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions,
} from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/config.ts'
import { LogThrottle } from './log-throttle.ts'
import type { Tracing } from './open-tracing.ts'
import { counter, histogram, type MetricFamily, type Sample } from './prometheus-format.ts'

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

/** Whether a response has no set end, so that its duration means nothing. */
export const isStream = (reply: FastifyReply): boolean =>
  reply.getHeader('content-type') === 'text/event-stream'

const validTrace = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The trace id of a `traceparent` (W3C Trace Context); undefined if invalid. */
export function traceIdIn(header: unknown): string | undefined {
  const [, version, id, rest] = (typeof header === 'string' && validTrace.exec(header)) || []
  return version === '00' && rest !== undefined ? undefined : id
}

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

/** In seconds: a commit is one wait for the disk. */
const COMMIT_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const GROUP_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128]

/** Counters of the process. They outlive generations. */
export class Metrics implements StorageObserver {
  readonly requests = new RequestDurations()
  readonly #groups = new Histogram(GROUP_BOUNDS)
  readonly #commits = new Histogram(COMMIT_BOUNDS)
  #retries = 0

  committed(transactions: number, milliseconds: number): void {
    this.#groups.observe(transactions)
    this.#commits.observe(milliseconds / 1000)
  }

  retried(): void {
    this.#retries += 1
  }

  families(): MetricFamily[] {
    return [
      this.requests.family(),
      histogram('mortise_commit_transactions', 'Transactions per SQLite commit', this.#groups.samples()),
      histogram('mortise_commit_duration_seconds', 'Duration of SQLite commits', this.#commits.samples()),
      counter(
        'mortise_database_retries_total',
        'Transactions repeated on PostgreSQL because of conflicts',
        this.#retries,
      ),
    ]
  }
}

/** In seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type RouteConfig = FastifyContextConfig & { readonly url?: string }

/** Durations of one route and method. */
interface RouteDurations {
  readonly labels: Readonly<Record<string, string>>
  /** By status class: the first digit. */
  readonly classes: (Histogram | undefined)[]
}

/** By route pattern, so callers cannot create metrics. They stay after a module is removed. */
export class RequestDurations {
  readonly #byName = new Map<string, RouteDurations>()
  /** The same by the route's config, which each generation makes again. */
  readonly #byConfig = new WeakMap<object, Map<string, RouteDurations>>()

  /** @param config of the route; for requests without a route it has no `url` */
  observe(config: RouteConfig, method: string, status: number, milliseconds: number): void {
    const { classes } = this.#byConfig.get(config)?.get(method) ?? this.#remember(config, method)
    const first = Math.trunc(status / 100)
    classes[first] ??= new Histogram(BOUNDS)
    classes[first].observe(milliseconds / 1000)
  }

  family(): MetricFamily {
    const samples = [...this.#byName.values()].flatMap(({ labels, classes }) =>
      classes.flatMap((histogram, first) => histogram?.samples({ ...labels, status: `${first}xx` }) ?? []),
    )
    return histogram('mortise_request_duration_seconds', 'Duration of requests by route', samples)
  }

  #remember(config: RouteConfig, method: string): RouteDurations {
    const { module = 'host', url: route = 'unknown' } = config
    const name = `${module} ${method} ${route}`
    const durations = this.#byName.get(name) ?? { labels: { method, route, module }, classes: [] }
    this.#byName.set(name, durations)
    const methods = this.#byConfig.get(config) ?? new Map()
    this.#byConfig.set(config, methods.set(method, durations))
    return durations
  }
}

/** Counts values by size. Called for every request: a value costs a few comparisons. */
export class Histogram {
  readonly #bounds: readonly number[]
  /** By bound; the last one counts values above all bounds. */
  readonly #counts: Float64Array
  #sum = 0

  /** @param bounds the largest value of each bucket, ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index += 1
    ;(this.#counts[index] as number) += 1
    this.#sum += value
  }

  samples(labels: Readonly<Record<string, string>> = {}): Sample[] {
    let count = 0
    const buckets = Array.from(this.#counts, (own, index) => {
      count += own
      const le = String(this.#bounds[index] ?? '+Inf')
      return { suffix: '_bucket', labels: { ...labels, le }, value: count }
    })
    return [
      ...buckets,
      { suffix: '_sum', labels, value: this.#sum },
      { suffix: '_count', labels, value: count },
    ]
  }
}
