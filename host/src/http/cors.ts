import corsPlugin from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

const exposed =
  'Guest-Token, ETag, Location, Link, Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed'

/**
 * Lets pages of the configured origins read responses, without credentials. A preflight request
 * counts for the address limit, and gets 404 if no resource has its path.
 */
export const cors = fp<{ readonly origins: readonly string[] }>(async (app, { origins }) => {
  if (origins.length === 0) return
  app.addHook('onRoute', (route) => {
    if (route.url !== '*' || route.method !== 'OPTIONS') return
    route.config = { ...route.config, access: 'public' }
    route.handler = (request, reply) => {
      if (isPreflight(request)) reply.code(204).header('content-length', '0').send()
      else reply.callNotFound()
    }
  })
  await app.register(corsPlugin, {
    delegator: (request, callback) => {
      callback(null, {
        origin: [...origins],
        methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
        exposedHeaders: exposed,
        maxAge: 600,
        // An OPTIONS request that is no preflight is a method like others.
        preflight: isPreflight(request),
        preflightContinue: true,
      })
    },
  })
})

function isPreflight({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}
