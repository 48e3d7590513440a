import type { StorageObserver } from '@mortise/storage'
import type { FastifyContextConfig } from 'fastify'
import { counter, type MetricFamily, type Sample } from './metric-family.ts'

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
      {
        name: 'mortise_commit_transactions',
        help: 'How many transactions a commit of SQLite had',
        type: 'histogram',
        merge: 'sum',
        samples: this.#groups.samples(),
      },
      {
        name: 'mortise_commit_duration_seconds',
        help: 'How long commits of SQLite took',
        type: 'histogram',
        merge: 'sum',
        samples: this.#commits.samples(),
      },
      counter(
        'mortise_database_retries_total',
        'Work that PostgreSQL was given again, since it met others',
        this.#retries,
      ),
    ]
  }
}

/** In seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type RouteConfig = FastifyContextConfig & { readonly url?: string }

/** Durations of one route and method, by status class. */
class RouteDurations {
  readonly #labels: Readonly<Record<string, string>>
  readonly #classes: (Histogram | undefined)[] = []

  constructor(labels: Readonly<Record<string, string>>) {
    this.#labels = labels
  }

  observe(status: number, milliseconds: number): void {
    const first = Math.trunc(status / 100)
    this.#classes[first] ??= new Histogram(BOUNDS)
    this.#classes[first].observe(milliseconds / 1000)
  }

  samples() {
    return this.#classes.flatMap(
      (histogram, first) => histogram?.samples({ ...this.#labels, status: `${first}xx` }) ?? [],
    )
  }
}

/**
 * Request durations by route pattern, never by path, so callers cannot create metrics. The values
 * of a route stay after its module is removed, and continue when it comes back.
 */
export class RequestDurations {
  readonly #byName = new Map<string, RouteDurations>()
  /** The same by the route's config, which each generation makes again. */
  readonly #byConfig = new WeakMap<object, Map<string, RouteDurations>>()

  /** @param config of the route; for requests without a route it has no `url` */
  observe(config: RouteConfig, method: string, status: number, milliseconds: number): void {
    const durations = this.#byConfig.get(config)?.get(method) ?? this.#remember(config, method)
    durations.observe(status, milliseconds)
  }

  family(): MetricFamily {
    return {
      name: 'mortise_request_duration_seconds',
      help: 'How long requests took, by route',
      type: 'histogram',
      merge: 'sum',
      samples: [...this.#byName.values()].flatMap((durations) => durations.samples()),
    }
  }

  #remember(config: RouteConfig, method: string): RouteDurations {
    const { module = 'host', url: route = 'unknown' } = config
    const name = `${module} ${method} ${route}`
    const durations = this.#byName.get(name) ?? new RouteDurations({ method, route, module })
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
