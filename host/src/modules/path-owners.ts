/** Paths of the host, with everything below them. */
export const hostPaths: readonly string[] = [
  '/docs',
  '/guest',
  '/health',
  '/idempotency',
  '/metrics',
  '/openapi.json',
]

/**
 * The path that a module owns by one of its routes, with everything below it: its first segment.
 * @param route `GET /cart/item/:id`
 */
export const ownedPath = (route: string): string =>
  route.slice(route.indexOf(' ') + 1).replace(/(?<=.)\/.*/, '')
