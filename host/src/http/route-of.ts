import type { FastifyRequest } from 'fastify'

/** What a log line says about where a request went: `{ module: 'api-cart', route: 'GET /cart/item/:id' }`. */
export function routeOf({ method, routeOptions }: FastifyRequest): { module?: string; route?: string } {
  const { config, url } = routeOptions
  return { ...(config?.module && { module: config.module }), ...(url && { route: `${method} ${url}` }) }
}
