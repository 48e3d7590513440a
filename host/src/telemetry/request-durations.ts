import type { FastifyContextConfig } from 'fastify'
import { Histogram } from './histogram.ts'
import type { MetricFamily } from './metric-family.ts'

/** In seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type RouteConfig = FastifyContextConfig & { readonly url?: string }

/** How long the requests of one route and method took, by the class of their status. */
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
 * How long requests took, by route pattern, never by path: what callers send makes no figures of its own. Those of
 * a route stay when its module goes, and are continued when it comes back.
 */
export class RequestDurations {
  readonly #byName = new Map<string, RouteDurations>()
  /** The same by the route's config, which each generation has anew. */
  readonly #byConfig = new WeakMap<object, Map<string, RouteDurations>>()

  /** @param config of the route; that of what no route answers has no `url` */
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
