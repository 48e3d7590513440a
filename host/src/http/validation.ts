import { Strict } from '@mortise/module-sdk'
import type { FastifySchema } from 'fastify'
import fp from 'fastify-plugin'

const noQuery = Strict({})

/**
 * A route that declares no query parameters accepts none: unknown parameters are refused as on
 * every route. `buildValidator`, an option of the instance, validates the parts of a request.
 */
export const validation = fp(async (app) => {
  app.addHook('onRoute', (route) => {
    if (route.url === '*') return // the preflight route of CORS
    // Fastify accepts `query` for `querystring`, but not both.
    const { query, ...schema } = (route.schema ?? {}) as FastifySchema & { query?: unknown }
    route.schema = { ...schema, querystring: schema.querystring ?? query ?? noQuery }
  })
})
