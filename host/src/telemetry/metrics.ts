import type { StorageObserver } from '@mortise/storage'
import type { FastifyContextConfig } from 'fastify'
import { counter, histogram, type MetricFamily, type Sample } from './prometheus-format.ts'

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
