import type { FastifyRequest } from 'fastify'
import { traceIdIn } from './request-head.ts'

export interface RouteTaken {
  readonly module?: string
  readonly route?: string
  readonly traceId?: string
}

/**
 * The route and trace of a request for a log line: `{ module: 'api-cart', route: 'GET
 * /cart/item/:id' }`.
 */
export function routeOf({ method, routeOptions, traceparent }: FastifyRequest): RouteTaken {
  const { config, url } = routeOptions
  const traceId = traceIdIn(traceparent)
  return {
    ...(config?.module && { module: config.module }),
    ...(url && { route: `${method} ${url}` }),
    ...(traceId && { traceId }),
  }
}
