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
 * The path that a module owns by one of its routes, with everything below it: its first segment, or
 * the first two below `/.well-known`, which several protocols share (RFC 8615).
 * @param route `GET /cart/item/:id`
 */
export const ownedPath = (route: string): string =>
  /^(?:\/\.well-known)?\/[^/]*/.exec(route.slice(route.indexOf(' ') + 1))?.[0] ?? '/'
