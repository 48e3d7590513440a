import fp from 'fastify-plugin'

/** Sent with every response, even without a route. */
export const constantHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const constants = Object.entries(constantHeaders)

/**
 * Sets `Request-Id` and the security headers on every response. One hook sets constants; helmet
 * rebuilds them for each request at twice the cost (5 against 2.5 µs of the 17 µs of a trivial
 * request).
 */
export const securityHeaders = fp<{ readonly publicUrl?: string | undefined }>(async (app, { publicUrl }) => {
  const secure = publicUrl?.startsWith('https:') === true
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('request-id', request.id)
    for (const [name, value] of constants) reply.header(name, value)
    if (secure) reply.header('strict-transport-security', 'max-age=31536000')
    if (request.routeOptions.config.access !== 'public') reply.header('cache-control', 'no-store')
    done()
  })
})
